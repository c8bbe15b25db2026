#!/usr/bin/env bash
# With pion's SCTP, the transport of WebRTC data channels in Go, the side that made the association doubles its window each round trip and the side
# that answered has no slow start at all: it grows by one packet a round trip from its first one. 180 KB of the one take 6 round trips, of
# the other 17, on the same path without loss, and which is which depends on who sent the INIT chunk. A measurement of "pion" in one
# direction, or of a server that answers, says nothing of the other.
# Cause: handleInit() in association.go leaves the answerer's slow start threshold at 0, so that onCumulativeTSNAckPointAdvanced() takes its
# branch of congestion avoidance at once; handleInitAck() sets the initiator's threshold to the peer's receive window.
# Versions: github.com/pion/sctp v1.12.1. Control: the initiator's transfer.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat > go.mod <<'MOD'
module growth

go 1.24

require (
	github.com/pion/logging v0.2.4
	github.com/pion/sctp v1.12.1
)
MOD
cat > main.go <<'GO'
package main

import (
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/pion/logging"
	"github.com/pion/sctp"
)

const roundTrip = 200 * time.Millisecond

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

// Carries datagrams from one socket of the relay to the other, half a round trip later; the function returned gives them.
func carry(in, out *net.UDPConn, to net.Addr) func() []datagram {
	var mutex sync.Mutex
	var noted []datagram
	queue := make(chan datagram, 10000)
	go func() {
		for buffer := make([]byte, 65536); ; {
			size, _, err := in.ReadFrom(buffer)
			if err != nil {
				return
			}
			received := datagram{time.Now(), append([]byte{}, buffer[:size]...)}
			mutex.Lock()
			noted = append(noted, received)
			mutex.Unlock()
			queue <- received
		}
	}()
	go func() {
		for next := range queue {
			time.Sleep(time.Until(next.at.Add(roundTrip / 2)))
			out.WriteTo(next.data, to)
		}
	}()
	return func() []datagram {
		mutex.Lock()
		defer mutex.Unlock()
		return append([]datagram{}, noted...)
	}
}

// Full packets of each round trip in which one side of a new association sends 180,000 bytes.
func transfer(initiator bool) []int {
	local := &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}
	near, far := must(net.ListenUDP("udp", local)), must(net.ListenUDP("udp", local))
	one := must(net.DialUDP("udp", nil, near.LocalAddr().(*net.UDPAddr)))
	other := must(net.DialUDP("udp", nil, far.LocalAddr().(*net.UDPAddr)))
	up, down := carry(near, far, other.LocalAddr()), carry(far, near, one.LocalAddr())
	accepted := make(chan *sctp.Association)
	go func() {
		accepted <- must(sctp.Server(sctp.Config{NetConn: other, LoggerFactory: logging.NewDefaultLoggerFactory()}))
	}()
	time.Sleep(100 * time.Millisecond)
	sender := must(sctp.Client(sctp.Config{NetConn: one, LoggerFactory: logging.NewDefaultLoggerFactory()}))
	receiver, noted := <-accepted, up
	if !initiator {
		sender, receiver, noted = receiver, sender, down
	}
	stream := must(sender.OpenStream(1, sctp.PayloadTypeWebRTCBinary))
	before := len(noted())
	for range 3 {
		must(stream.WriteSCTP(make([]byte, 60_000), sctp.PayloadTypeWebRTCBinary))
	}
	incoming := must(receiver.AcceptStream())
	for buffer, received := make([]byte, 65536), 0; received < 180_000; {
		received += must(incoming.Read(buffer))
	}
	sent := noted()[before:]
	rounds := make([]int, int((sent[len(sent)-1].at.Sub(sent[0].at)+roundTrip/10)/roundTrip)+1)
	for _, packet := range sent {
		if len(packet.data) > 500 {
			rounds[int((packet.at.Sub(sent[0].at)+roundTrip/10)/roundTrip)]++
		}
	}
	return rounds
}

func main() {
	made, answered := transfer(true), transfer(false)
	fmt.Println("packets of each round trip, sent by the side that made the association:", made)
	fmt.Println("packets of each round trip, sent by the side that answered:            ", answered)
	if made[0] != 3 || made[3] < 20 {
		fmt.Println("the control has changed")
		os.Exit(1)
	}
	if answered[0] != 3 || answered[3] > 8 || len(answered) < 12 {
		fmt.Println("the behaviour has changed")
		os.Exit(1)
	}
}
GO
export GOFLAGS=-mod=mod GOWORK=off
nice -n 19 go build -o growth .
echo "pion/sctp $(go list -m -f '{{.Version}}' github.com/pion/sctp)"
./growth
echo "as described: the side that answers grows by a packet each round trip"
