#!/usr/bin/env bash
# quic-go begins with a window of 32 packets, 40,960 bytes, more than three times the ten packets of RFC 9002. A capture does not show it as a
# burst: ten leave at once, as if the window were ten, and the other 22 follow one by one over half a round trip, before any
# acknowledgement. Who counts the first burst finds ten; who counts what arrives before the first acknowledgement finds 32.
# Cause: internal/congestion/cubic_sender.go has the initial window of 32 packets and, in slow start, a pacing rate of
# two windows a round trip; internal/congestion/pacer.go has the burst of ten packets.
# Versions: github.com/quic-go/quic-go v0.65.0. Control: a response of 5,000 bytes leaves as four packets at once.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat > go.mod <<'MOD'
module flight

go 1.24

require github.com/quic-go/quic-go v0.65.0
MOD
cat > main.go <<'GO'
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
)

const roundTrip = 400 * time.Millisecond

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

type datagram struct {
	at   time.Time
	data []byte
}

// The relay delays each direction by half a round trip and notes the server's datagrams.
var (
	mutex sync.Mutex
	noted []datagram
)

func relay(server string) string {
	front, back := must(net.ListenPacket("udp", "127.0.0.1:0")), must(net.Dial("udp", server))
	up, down := make(chan datagram, 10000), make(chan datagram, 10000)
	var client net.Addr
	go func() {
		for buffer := make([]byte, 65536); ; {
			size, from, err := front.ReadFrom(buffer)
			if err != nil {
				panic(err)
			}
			client = from
			up <- datagram{time.Now(), append([]byte{}, buffer[:size]...)}
		}
	}()
	go func() {
		for buffer := make([]byte, 65536); ; {
			size := must(back.Read(buffer))
			received := datagram{time.Now(), append([]byte{}, buffer[:size]...)}
			mutex.Lock()
			noted = append(noted, received)
			mutex.Unlock()
			down <- received
		}
	}()
	go func() {
		for next := range up {
			time.Sleep(time.Until(next.at.Add(roundTrip / 2)))
			back.Write(next.data)
		}
	}()
	go func() {
		for next := range down {
			time.Sleep(time.Until(next.at.Add(roundTrip / 2)))
			front.WriteTo(next.data, client)
		}
	}()
	return front.LocalAddr().String()
}

func serve() string {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	certificate := must(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))
	configuration := &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}},
		NextProtos:   []string{"flight"},
	}
	listener := must(quic.ListenAddr("127.0.0.1:0", configuration, nil))
	go func() {
		for {
			connection := must(listener.Accept(context.Background()))
			go func() {
				stream := must(connection.AcceptStream(context.Background()))
				stream.Write(make([]byte, binary.BigEndian.Uint32(must(io.ReadAll(stream)))))
				stream.Close()
			}()
		}
	}()
	return listener.Addr().String()
}

// Full datagrams of the first response on a new connection: in the first 5 ms, and before an acknowledgement can come.
func flight(server string, size int) (burst, all int) {
	configuration := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"flight"}}
	connection := must(quic.DialAddr(context.Background(), relay(server), configuration, nil))
	defer connection.CloseWithError(0, "")
	time.Sleep(4 * roundTrip)
	mutex.Lock()
	noted = nil
	mutex.Unlock()
	stream := must(connection.OpenStreamSync(context.Background()))
	stream.Write(binary.BigEndian.AppendUint32(nil, uint32(size)))
	stream.Close()
	received := len(must(io.ReadAll(stream)))
	if received != size {
		panic("response not complete")
	}
	mutex.Lock()
	defer mutex.Unlock()
	var first time.Time
	for _, sample := range noted {
		if len(sample.data) < 1000 || !first.IsZero() && sample.at.Sub(first) > roundTrip*8/10 {
			continue
		}
		if first.IsZero() {
			first = sample.at
		}
		if all++; sample.at.Sub(first) < 5*time.Millisecond {
			burst++
		}
	}
	fmt.Printf("response of %d bytes: %d full packets at once, %d before the first acknowledgement\n", size, burst, all)
	return burst, all
}

func main() {
	server := serve()
	if burst, all := flight(server, 5000); burst != 4 || all != 4 {
		fmt.Println("the control has changed")
		os.Exit(1)
	}
	if burst, all := flight(server, 300_000); burst < 9 || burst > 11 || all != 32 {
		fmt.Println("the behaviour has changed")
		os.Exit(1)
	}
}
GO
export GOFLAGS=-mod=mod GOWORK=off
nice -n 19 go build -o flight .
echo "quic-go $(go list -m -f '{{.Version}}' github.com/quic-go/quic-go)"
./flight
echo "as described: a window of 32 packets behind a burst of ten"
