// A server of files over HTTP/3: quic-go with its default settings.
//
// Usage: quic-go ADDRESS CERTIFICATE KEY FOLDER
package main

import (
	"fmt"
	"net/http"
	"os"
	"runtime/debug"

	"github.com/quic-go/quic-go/http3"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		information, _ := debug.ReadBuildInfo()
		for _, module := range information.Deps {
			if module.Path == "github.com/quic-go/quic-go" {
				fmt.Println("quic-go", module.Version)
			}
		}
		return
	}
	address, certificate, key, folder := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	fmt.Fprintln(os.Stderr, http3.ListenAndServeQUIC(address, certificate, key, http.FileServer(http.Dir(folder))))
	os.Exit(1)
}
