package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

const (
	residentRecords = 1_000_000
	residentBytes   = 150e6
)

// residentRows compare the memory of a replay with the memory that it may have.
func residentRows() []row {
	return []row{{
		id:   "resident",
		work: "the whole pipeline over 1,000,000 records, in a process of its own: memory that is resident, at the most",
		peer: "150 MB",
		of:   memory, most: 1, rounds: 3, input: true,
		open: openResident,
	}}
}

func openResident(_ context.Context, b *bench) (*contest, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ours := func(ctx context.Context) (sample, error) {
		cmd := exec.CommandContext(ctx, self, "-input", b.file, "replay")
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return sample{}, fmt.Errorf("the replay: %w", err)
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
		return sample{records: residentRecords, bytes: n}, err
	}
	theirs := func(context.Context) (sample, error) {
		return sample{records: residentRecords, bytes: residentBytes}, nil
	}
	return &contest{ours: side{run: ours}, peer: side{run: theirs}}, nil
}

// replayed runs in the process of the row. It takes the records through the pipeline with the garbage collector of the
// commands, and prints the peak of resident memory.
func replayed(ctx context.Context, file string) error {
	undo := collectAsCommands()
	b := &bench{}
	if file != "" {
		var err error
		if b.input, err = readInput(file); err != nil {
			return err
		}
	}
	w, err := newStream(ctx, b.usual(), residentRecords, 1)
	if err != nil {
		return err
	}
	n, err := w.run(ctx)
	if err == nil && n < residentRecords*99/100 {
		err = fmt.Errorf("%d records were read", n)
	}
	if err == nil {
		_, err = fmt.Println(residentPeak(os.Getpid()))
	}
	return errors.Join(err, undo())
}
