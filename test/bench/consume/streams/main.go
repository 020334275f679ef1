// Command streams is a DynamoDB Streams endpoint that answers as fast as a socket allows. Its streams have four shards.
// The pages of 1 MB are encoded once, and get their own sequence numbers and iterator when they are sent. The endpoint
// is a process of its own, so that a reader's processor time has only the reading.
//
//	streams -records FILE
//
// The file has one record of a GetRecords answer on each line. The records come again and again. The first line of
// standard output is the URL of the endpoint. The command ends with its standard input.
//
//	POST /grant?table=NAME&pages=N    lets a reader read N more pages of each shard of this table,
//	                                  and answers how many records they have
//
// Every table exists, at first with nothing to read. After the last granted page GetRecords waits a little, and answers
// with an empty page, because the shards stay open.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
)

func main() {
	records := flag.String("records", "", "file of records, one a line")
	flag.Parse()
	if err := run(*records, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "streams:", err)
		os.Exit(1)
	}
}

func run(records string, in io.Reader, out io.Writer) error {
	pages, err := load(records)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := newServer(pages)
	mux := http.NewServeMux()
	mux.Handle("/", s)
	mux.HandleFunc("POST /grant", func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.ParseInt(r.FormValue("pages"), 10, 64)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		fmt.Fprintln(w, s.grant(r.FormValue("table"), n))
	})
	if _, err := fmt.Fprintf(out, "http://%s\n", listener.Addr()); err != nil {
		return err
	}
	server := &http.Server{Handler: mux}
	go func() {
		_, _ = io.Copy(io.Discard, in)
		_ = server.Close()
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
