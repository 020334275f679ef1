package takeover

import (
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	checkpointEvery = 37              // in records, for the KCL application: rarely at the end of a page of 20
	startLimit      = 3 * time.Minute // limit of steps that take seconds, or a minute with the KCL
)

// Fact 30: the lease table of a KCL application is taken over at its checkpoints, but not while the application runs.
// It can be handed back.
func TestFact30_ALeaseTableIsTakenOverFromTheKCLAndHandedBack(t *testing.T) {
	w := newWorld(t)
	const first, second, third = 1000, 1200, 1400
	w.write(t, 0, first)

	// The application reads the first part slowly, so that it still runs when our consumer starts.
	theirs := w.application(t, "worker-1")
	theirs.await(t, 1)
	refused := w.consume(t)
	if code := refused.end(t); code != 1 {
		t.Errorf("beside an application that lives consume ends with %d:\n%s", code, refused.stderr.Bytes())
	}
	if want := "another application works on these leases (worker-1): stop it first"; !strings.Contains(refused.stderr.String(), want) {
		t.Errorf("consume does not say %q:\n%s", want, refused.stderr.Bytes())
	}
	if early, err := w.scan(t.Context(), rows, "order"); err == nil && len(early) > 0 {
		t.Errorf("%d records were read beside an application that lives", len(early))
	}

	// The application is stopped in mid-stream and writes no last checkpoint. Our consumer continues at the checkpoint
	// before.
	theirs.await(t, 5*checkpointEvery)
	if err := theirs.worker.Stop(); err != nil {
		t.Fatal(err)
	}
	read := theirs.read()
	checkpoints, err := w.scan(t.Context(), leases, "checkpoint")
	if err != nil || len(checkpoints) != 1 {
		t.Fatal(checkpoints, err)
	}
	checkpoint := theirs.upTo(t, checkpoints[0])
	if len(read) >= first {
		t.Fatalf("the application has read all %d records before it was stopped: nothing is left to be taken over", len(read))
	}
	ours := w.consume(t)
	ours.await(t, w, first-checkpoint)
	w.write(t, first, second)
	ours.await(t, w, second-checkpoint)
	count := ours.stop(t)
	rowsOf, err := w.scan(t.Context(), rows, "order")
	if err != nil {
		t.Fatal(err)
	}

	// After the lease table is handed back, the application continues where our consumer has stopped.
	w.write(t, second, third)
	back := w.application(t, "worker-1")
	back.await(t, third-second)
	if err := back.worker.Stop(); err != nil {
		t.Fatal(err)
	}
	again := back.read()

	t.Logf("the application read %d records, %d of them behind a checkpoint; ours %d; the application %d", len(read), checkpoint, count, len(again))
	if !slices.Equal(read, keys(0, len(read))) {
		t.Errorf("the application read %v", read)
	}
	slices.Sort(rowsOf)
	if !slices.Equal(rowsOf, keys(checkpoint, second)) {
		t.Errorf("ours read other records than those from %d to %d:\n%v", checkpoint, second, rowsOf)
	}
	// If the machine is too busy for heartbeats, the consumer gives up its shards, and reads the records after the
	// checkpoint again.
	if lapsed := strings.Contains(ours.stderr.String(), "two thirds of the lease time"); count != len(rowsOf) && !lapsed {
		t.Errorf("ours read %d records %d times", len(rowsOf), count)
	}
	if repeated := len(read) - checkpoint; repeated > checkpointEvery {
		t.Errorf("%d records were repeated, more than those since the last checkpoint", repeated)
	}
	if !slices.Equal(again, keys(second, third)) {
		t.Errorf("the application continued with %v, not with the records from %d to %d", again, second, third)
	}
}

// keys returns the keys of the items from, from+1, ..., to-1.
func keys(from, to int) []string {
	var all []string
	for n := from; n < to; n++ {
		all = append(all, key(n))
	}
	return all
}
