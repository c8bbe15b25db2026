#!/usr/bin/env bash
# gopacket reads a pcapng file whose time resolution is a power of two (option if_tsresol with its highest bit set) with times that run 7 % too
# fast within each second and jump back by 74 ms at its end. Resolutions of 2^-30 s are valid and come from capture hardware; one in powers
# of ten is read rightly. Round trips are 7 % too long, and 7 % of the packets lie before their predecessors of the next second.
# Cause: NgReader divides 10^9 and the ticks of a second in whole numbers (src pcapgo/ngread.go): the ratio 0.93 is rounded to 1.
# Versions: github.com/gopacket/gopacket v1.7.7. Control: the same packets with nanoseconds.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat > go.mod <<'MOD'
module times

go 1.24

require github.com/gopacket/gopacket v1.7.7
MOD
cat > main.go <<'GO'
package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"slices"

	"github.com/gopacket/gopacket/pcapgo"
)

const start = 1_700_000_000 // seconds

func block(kind uint32, words []uint32) []byte {
	length := uint32(4*len(words) + 12)
	var out bytes.Buffer
	binary.Write(&out, binary.LittleEndian, append(append([]uint32{kind, length}, words...), length))
	return out.Bytes()
}

// Times, in milliseconds since the start, that the reader gives for packets 0, 500, 999 and 1,000 ms after it.
func times(resolution uint32, ticks uint64) []int64 {
	file := block(0x0A0D0D0A, []uint32{0x1A2B3C4D, 1, 0xFFFFFFFF, 0xFFFFFFFF})
	file = append(file, block(1, []uint32{1, 262144, 9 | 1<<16, resolution, 0})...) // if_tsresol, end of options
	for _, milliseconds := range []uint64{0, 500, 999, 1000} {
		at := start*ticks + milliseconds*ticks/1000
		words := append([]uint32{0, uint32(at >> 32), uint32(at), 60, 60}, make([]uint32, 15)...)
		file = append(file, block(6, words)...)
	}
	reader, err := pcapgo.NewNgReader(bytes.NewReader(file), pcapgo.DefaultNgReaderOptions)
	if err != nil {
		panic(err)
	}
	var read []int64
	for {
		_, info, err := reader.ReadPacketData()
		if err != nil {
			return read
		}
		read = append(read, info.Timestamp.UnixMilli()-start*1000)
	}
}

func main() {
	decimal, binary := times(9, 1_000_000_000), times(0x80|30, 1<<30)
	fmt.Println("packets at 0, 500, 999, 1000 ms; resolution 10^-9:", decimal)
	fmt.Println("packets at 0, 500, 999, 1000 ms; resolution 2^-30:", binary)
	if !slices.Equal(decimal[:2], []int64{0, 500}) || !slices.Equal(decimal[2:], []int64{999, 1000}) {
		fmt.Println("the control has changed")
		os.Exit(1)
	}
	if !slices.Equal(binary, []int64{0, 536, 1072, 1000}) {
		fmt.Println("the behaviour has changed")
		os.Exit(1)
	}
}
GO
export GOFLAGS=-mod=mod GOWORK=off
nice -n 19 go build -o times .
echo "gopacket $(go list -m -f '{{.Version}}' github.com/gopacket/gopacket)"
./times
echo "as described: the packet of 999 ms lies 72 ms after the one of 1,000 ms"
