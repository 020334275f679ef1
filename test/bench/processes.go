package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/rpc"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/state"
)

const (
	sharedItems = 256_000
	sharedFiles = 128
	sharedShort = 32_000
)

// processesRows measure a backfill that is shared among processes of one core each.
func processesRows() []row {
	return []row{{
		id:   "processes",
		work: "the same backfill, of 128 files, by two processes of one core each, which claim its parts",
		peer: "itself by one process of one core",
		note: "the store of the parts is in the process that starts them, which they call over loopback; their sinks count; " +
			"by the processor time of the busiest, with its start: what else runs on the machine does not count",
		of: rate, least: 1.8, rounds: 5,
		open: openProcesses,
	}}
}

func openProcesses(ctx context.Context, b *bench) (*contest, error) {
	dir, err := os.MkdirTemp("", "tablewake-bench-")
	if err != nil {
		return nil, err
	}
	f := &fleet{dir: dir, items: sharedItems}
	if b.short {
		f.items = sharedShort
	}
	if f.self, err = os.Executable(); err == nil {
		err = writeExport(usual(), f.items, sharedFiles, dir)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	by := func(processes int) side {
		return side{run: func(ctx context.Context) (sample, error) { return f.fill(ctx, processes) }}
	}
	return &contest{ours: by(2), peer: by(1), close: func() error { return os.RemoveAll(dir) }}, nil
}

// fleet has several processes that share a backfill.
type fleet struct {
	self  string // path of the program
	dir   string // folder of the export
	items int
}

// fill lets n processes read the export once. The time is that of the busiest process.
func (f *fleet) fill(ctx context.Context, processes int) (sample, error) {
	parts := &partMemory{}
	listening, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return sample{}, err
	}
	defer listening.Close()
	server := rpc.NewServer()
	if err := server.RegisterName("Parts", &partService{parts}); err != nil {
		return sample{}, err
	}
	go serve(server, listening)
	start := time.Now()
	var all []*exec.Cmd
	for i := range processes {
		cmd := exec.CommandContext(ctx, f.self, "fill", f.dir, listening.Addr().String(), "process-"+strconv.Itoa(i))
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
		cmd.Stderr = os.Stderr
		if err = cmd.Start(); err != nil {
			break
		}
		all = append(all, cmd)
	}
	out := sample{records: f.items}
	for _, cmd := range all {
		err = errors.Join(err, cmd.Wait())
		out.processor = max(out.processor, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	}
	out.wall = time.Since(start)
	if err != nil {
		return out, err
	}
	return out, errors.Join(checkParts(parts.list(), f.items), parts.checkShares(processes, f.items))
}

// serve serves connections until the listener is closed.
func serve(s *rpc.Server, l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go s.ServeConn(c)
	}
}

// checkParts fails unless all parts were read, and each item once.
func checkParts(parts []state.Part, items int) error {
	if len(parts) != sharedFiles {
		return fmt.Errorf("%d parts were read, of %d", len(parts), sharedFiles)
	}
	read := 0
	for _, p := range parts {
		if !p.Done {
			return fmt.Errorf("the part %s was not read to its end", p.ID)
		}
		read += int(p.Items)
	}
	if read != items {
		return fmt.Errorf("%d items were read, of %d", read, items)
	}
	return nil
}

// fillShared reads its share of an export, in a process of the row.
func fillShared(ctx context.Context, dir, address, owner string) error {
	undo := collectAsCommands()
	client, err := rpc.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer client.Close()
	f, err := newFilled(ctx, usual(), sinks.Backfill(sinks.BackfillOptions{Sinks: []string{"rows", "documents"}}))
	if err != nil {
		return err
	}
	src, err := openParts(ctx, usual(), dir, partClient{client}, owner)
	if err != nil {
		return err
	}
	_, err = f.run(ctx, src, src)
	return errors.Join(err, src.Close(ctx), undo())
}
