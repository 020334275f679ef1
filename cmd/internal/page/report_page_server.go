package page

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/fleet"
	"github.com/tablewake/tablewake/cmd/internal/health"
	"github.com/tablewake/tablewake/cmd/internal/ownhost"
)

// readPause is the pause between two reports of `status --serve`. A report needs a read of all stores and a list of the
// shards of the streams.
const readPause = 5 * time.Second

// ServeReports serves the page of `status --serve` until ctx is done. /status answers with the report.
func ServeReports(ctx context.Context, o fleet.PageRequest) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Addr)
	if err != nil {
		return fmt.Errorf("--serve: %w", err)
	}
	if !o.Everywhere && !ownhost.Loopback(l) {
		return errors.Join(cli.Usagef(
			"--serve %s: whoever reaches this address reads the page: --page says that this is meant", o.Addr), l.Close())
	}
	fmt.Fprintf(o.Log, "page: http://%s/\n", l.Addr())
	return serveListener(ctx, l, o)
}

// serveListener serves the page on l until ctx is done.
func serveListener(ctx context.Context, l net.Listener, o fleet.PageRequest) error {
	reports := NewReportCache(readPause, cli.ErrorText, o.ReadReport)
	reports.wakeRun() // prepares a report before the first request
	p := New(Options{Pipeline: o.Pipeline, Flags: o.Flags, Source: func() Status {
		report, problem := reports.Latest()
		return Status{Fleet: report, FleetError: problem}
	}})
	mux := http.NewServeMux()
	mux.Handle("GET /", p)
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, r *http.Request) { writeReport(w, r, reports) })
	host := ownhost.Part(o.Addr)
	server := &http.Server{ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second,
		WriteTimeout: health.WriteTimeout,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !ownhost.Is(r, host) {
				ownhost.Forbid(w)
				return
			}
			mux.ServeHTTP(w, r)
		})}
	serving, stop := context.WithCancel(ctx)
	defer stop()
	var work sync.WaitGroup
	work.Go(func() { reports.Run(serving) })
	work.Go(func() {
		<-serving.Done()
		_ = server.Close() // also cuts off answers in flight
	})
	err := server.Serve(l)
	stop()
	p.Close()
	work.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

const (
	reportAge  = 30 * time.Second // maximum age of a report in an answer of /status
	reportWait = 30 * time.Second // maximum wait for a report of this age
)

// writeReport answers /status with a report of at most reportAge, and waits for a new report if necessary. If there is
// none within reportWait, or if the read fails, the answer is a [Status] with the error.
func writeReport(w http.ResponseWriter, r *http.Request, reports *ReportCache) {
	ctx, cancel := context.WithTimeout(r.Context(), reportWait)
	defer cancel()
	control := http.NewResponseController(w) // a read takes longer than the timeouts of the server
	_ = control.SetReadDeadline(time.Time{})
	_ = control.SetWriteDeadline(time.Now().Add(reportWait + health.WriteTimeout))
	report, problem := reports.Recent(ctx, reportAge)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if report == nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		_ = json.NewEncoder(w).Encode(Status{FleetError: problem}) // it fails only if the client is gone
		return
	}
	if !report.Healthy {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = cli.WriteJSON(w, report) // it fails only if the client is gone
}
