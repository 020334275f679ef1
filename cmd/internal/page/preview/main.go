// Command preview serves the page in each state of pagetest. People who work on the page use it, and the browser tests.
//
//	go run ./cmd/internal/page/preview 127.0.0.1:8090
//
// It prints the address of each state, then an empty line. It ends when its standard input ends.
package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/page"
	"github.com/tablewake/tablewake/cmd/internal/page/pagetest"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "preview:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	addr := "127.0.0.1:0"
	if len(args) > 0 {
		addr = args[0]
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", addr)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	states := pagetest.States()
	for _, name := range slices.Sorted(maps.Keys(states)) {
		o := pagetest.Options(states[name])
		o.Every = 200 * time.Millisecond
		mux.Handle("/"+name+"/", http.StripPrefix("/"+name, page.New(o)))
		fmt.Printf("http://%s/%s/\n", l.Addr(), name)
	}
	fmt.Println()
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Second, ReadTimeout: time.Second,
		WriteTimeout: time.Second}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = server.Close() // also disconnects the viewers
	}()
	if err := server.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}
