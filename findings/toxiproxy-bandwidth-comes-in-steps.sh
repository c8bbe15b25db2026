#!/usr/bin/env bash
# toxiproxy's bandwidth limit is not a slow link but a fast one that is closed most of the time: at 1 Mbit/s nothing arrives for 100 ms, then 12,500
# bytes at once, and so on each 100 ms. A link of that rate brings the first packet of a response after 12 ms. The time to the first byte, which
# the limit should hardly change, is 100 ms later; and the server's TCP sees loopback, since the proxy takes the data at once. A test
# of how connections start, or of a player that adapts to rates, measures the proxy's timer.
# Cause: BandwidthToxic.Pipe() in toxics/bandwidth.go waits for the time of a chunk BEFORE it passes it on, and cuts chunks of up to
# 32 KB into pieces of 100 ms.
# Versions: github.com/Shopify/toxiproxy/v2 v2.5.0. Control: the same proxy without a toxic brings all within 50 ms.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat > go.mod <<'MOD'
module steps

go 1.24

require (
	github.com/Shopify/toxiproxy/v2 v2.5.0
	github.com/rs/zerolog v1.28.0
)
MOD
cat > main.go <<'GO'
package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// Bytes that a client has received of a response of 30,000 bytes, by the 50 ms in which they came.
func response(upstream, toxic string) []int {
	proxies := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	proxy := toxiproxy.NewProxy(proxies, "path", "127.0.0.1:0", upstream)
	if err := proxy.Start(); err != nil {
		panic(err)
	}
	defer proxy.Stop()
	if toxic != "" {
		must(proxy.Toxics.AddToxicJson(strings.NewReader(toxic)))
	}
	client := must(net.Dial("tcp", proxy.Listen))
	start := time.Now()
	must(client.Write([]byte("request")))
	var slots []int
	for buffer := make([]byte, 65536); ; {
		size, err := client.Read(buffer)
		slot := int(time.Since(start) / (50 * time.Millisecond))
		for len(slots) <= slot {
			slots = append(slots, 0)
		}
		slots[slot] += size
		if errors.Is(err, io.EOF) {
			return slots
		} else if err != nil {
			panic(err)
		}
	}
}

func main() {
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	go func() {
		for {
			connection := must(listener.Accept())
			must(connection.Read(make([]byte, 7)))
			must(connection.Write(make([]byte, 30_000)))
			connection.Close()
		}
	}()
	address := listener.Addr().String()
	direct := response(address, "")
	limited := response(address, `{"type": "bandwidth", "stream": "downstream", "attributes": {"rate": 125}}`)
	fmt.Println("bytes in each 50 ms without a toxic:", direct)
	fmt.Println("bytes in each 50 ms at 125 KB/s:     ", limited)
	if direct[0] != 30_000 {
		fmt.Println("the control has changed")
		os.Exit(1)
	}
	// A link of 1 Mbit/s carries 6,250 bytes in each slot.
	if len(limited) < 5 || limited[0]+limited[1] != 0 || limited[2]+limited[3] != 12_500 {
		fmt.Println("the behaviour has changed")
		os.Exit(1)
	}
}
GO
export GOFLAGS=-mod=mod GOWORK=off
nice -n 19 go build -o steps .
echo "toxiproxy $(go list -m -f '{{.Version}}' github.com/Shopify/toxiproxy/v2)"
./steps
echo "as described: steps of 100 ms"
