package takeover

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tablewake/tablewake/test/kcl"
)

// application is a worker of the KCL with the records that it has read.
type application struct {
	worker *kcl.Worker

	mu        sync.Mutex
	changed   chan struct{} // closed and replaced with each record
	keys      []string      // keys of the records, in the order in which they were read
	sequences []string      // sequence numbers of the same records
}

// application starts a worker that reads the stream in small pages and checkpoints now and then.
func (w *world) application(t *testing.T, name string) *application {
	t.Helper()
	a := &application{changed: make(chan struct{})}
	var err error
	a.worker, err = kcl.Start(t.Context(), kcl.Options{
		Endpoint: w.proxy.Endpoint(), Streams: []string{kcl.KnownARN(w.stream)}, Application: leases, Worker: name,
		Every: checkpointEvery, Page: 20, Hasty: true, Quick: true, Tell: a.tell,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.worker.Kill() })
	return a
}

func (a *application) tell(e kcl.Event) {
	if e.Event != "record" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.keys, a.sequences = append(a.keys, e.Key), append(a.sequences, e.Sequence)
	close(a.changed)
	a.changed = make(chan struct{})
}

// read returns the keys that were read so far.
func (a *application) read() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.keys)
}

// upTo returns how many records were read up to the record with this sequence number.
func (a *application) upTo(t *testing.T, sequence string) int {
	t.Helper()
	i := slices.Index(a.sequences, sequence)
	if i < 0 {
		t.Fatalf("the application has checkpointed %q, which it has not read", sequence)
	}
	return i + 1
}

// await waits until n records were read.
func (a *application) await(t *testing.T, n int) {
	t.Helper()
	limit := time.After(startLimit)
	for {
		a.mu.Lock()
		have, changed := len(a.keys), a.changed
		a.mu.Unlock()
		if have >= n {
			return
		}
		select {
		case <-changed:
		case <-a.worker.Done():
			t.Fatalf("the KCL's worker ended by itself:\n%s", a.worker.Log(4000))
		case <-limit:
			t.Fatalf("the KCL's worker has read %d of %d records in %v:\n%s", have, n, startLimit, a.worker.Log(4000))
		}
	}
}
