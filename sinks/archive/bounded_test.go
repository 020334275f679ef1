package archive_test

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/archive"
)

// scattered writes n changes of 13 items, each change as an object of its own. It writes some changes a second time,
// together with a later change of the item. It returns what [read] should return.
func scattered(t *testing.T, store *memory, n int) (want string) {
	t.Helper()
	s := newSink(t, archive.Options{Store: store, Prefix: "log/"})
	type at struct {
		pk string
		n  int
	}
	var all []at
	for i := range n {
		pk := fmt.Sprintf("k%02d", i*7%13)
		all = append(all, at{pk, i + 1})
		c := changes(t, line("MODIFY", pk, i+1, ""), line("MODIFY", pk, (i+13)%n+1, ""))
		mustWrite(t, s, c[0])
		if i%10 == 0 && (i+13)%n*7%13 == i*7%13 {
			mustWrite(t, s, c...)
		}
	}
	slices.SortFunc(all, func(a, b at) int { return cmp.Or(cmp.Compare(a.pk, b.pk), cmp.Compare(a.n, b.n)) })
	var words []string
	for _, a := range all {
		words = append(words, fmt.Sprintf("%s@%d", a.pk, a.n))
	}
	return strings.Join(words, " ")
}

// Read returns the same changes with any limit of memory and any number of objects, and leaves nothing on disk.
func TestReadInRounds(t *testing.T) {
	store := &memory{}
	want := scattered(t, store, 1200) // with Memory 1 Read makes so many spills that it merges them in two levels
	for _, memory := range []int64{1, 20_000, 0} {
		dir := t.TempDir()
		var last archive.ReadProgress
		got := read(t, store, archive.ReadOptions{Memory: memory, TempDir: dir, Progress: func(p archive.ReadProgress) { last = p }})
		if got != want {
			t.Errorf("with %d bytes: read back\n%.300s, want\n%.300s", memory, got, want)
		}
		if int(last.Objects) != len(store.objects) || last.Bytes == 0 {
			t.Errorf("with %d bytes: progress %+v of %d objects", memory, last, len(store.objects))
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("with %d bytes: left on disk: %v (%v)", memory, left, err)
		}
	}
	dir := t.TempDir()
	for range archive.Read(t.Context(), store, archive.ReadOptions{Memory: 1, TempDir: dir}) {
		break
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left on disk by a reader that stopped: %v", left)
	}
}

// Read merges large objects as streams. If there are more of them than can be open at once, Read merges in rounds.
func TestReadMergesLargeObjects(t *testing.T) {
	store := &memory{}
	s := newSink(t, archive.Options{Store: store})
	noise := make([]byte, 150_000)
	const n = 70
	var want []string
	for i := range n {
		_, _ = rand.Read(noise)
		pk := fmt.Sprintf("k%03d", (i*31)%n)
		want = append(want, pk+"@1")
		mustWrite(t, s, changes(t, strings.Replace(line("MODIFY", pk, 1, ""), `"n":{"N":"1.50"}`, `"n":{"S":"`+base64.StdEncoding.EncodeToString(noise)+`"}`, 1))...)
	}
	slices.Sort(want)
	if got := read(t, store, archive.ReadOptions{TempDir: t.TempDir()}); got != strings.Join(want, " ") {
		t.Errorf("read back\n%.300s, want\n%.300s", got, want)
	}
}

// Reading thousands of objects takes no more memory than reading hundreds of objects.
func TestReadIsBounded(t *testing.T) {
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	peak := func(n int) uint64 {
		store := &memory{}
		s := newSink(t, archive.Options{Store: store})
		filler := strings.Repeat("tablewake ", 400)
		for i := range n {
			r := strings.Replace(line("MODIFY", fmt.Sprintf("k%d", i%50), i+1, ""), `"n":{"N":"1.50"}`, `"n":{"S":"`+filler+`"}`, 1)
			mustWrite(t, s, changes(t, r)...)
		}
		base, most, seen := heap(), uint64(0), 0
		watch := func() { most = max(most, heap()) }
		for _, err := range archive.Read(t.Context(), store, archive.ReadOptions{Memory: 64 << 10, TempDir: t.TempDir(), Progress: func(p archive.ReadProgress) {
			if p.Objects%200 == 0 {
				watch()
			}
		}}) {
			if err != nil {
				t.Fatal(err)
			}
			if seen++; seen%200 == 0 {
				watch()
			}
		}
		if seen != n {
			t.Fatalf("%d changes, want %d", seen, n)
		}
		return most - min(most, base)
	}
	few, many := peak(800), peak(3200) // 14 MB of lines
	if many > few+6<<20 {
		t.Errorf("3,200 objects take %d KB, 800 take %d KB", many>>10, few>>10)
	}
}

func TestReadBetweenTimes(t *testing.T) {
	store := &memory{written: make(map[string]time.Time)}
	hour := func(n int) time.Time { return time.Unix(1767312000+3600*int64(n), 0) }
	for _, images := range []archive.LineFormat{archive.DynamoDBJSON, archive.PlainJSON} {
		s := newSink(t, archive.Options{Store: store, Prefix: string(images) + "/", Images: images})
		for n := 1; n <= 6; n += 2 {
			before := len(store.put)
			mustWrite(t, s, changes(t, line("MODIFY", "a", n, ""), line("MODIFY", "b", n+1, ""))...)
			store.written[store.put[before].Name] = hour(n + 1).Add(time.Minute)
		}
	}
	timeless := newSink(t, archive.Options{Store: store, Prefix: "timeless/"})
	mustWrite(t, timeless, changes(t, strings.Replace(line("MODIFY", "z", 9, ""), `"ApproximateCreationDateTime":1767344400,`, "", 1))...)
	for _, test := range []struct {
		from, to int
		want     string
		skipped  int64
	}{
		{0, 0, "a@1 a@3 a@5 b@2 b@4 b@6 z@9", 0},
		{3, 0, "a@3 a@5 b@4 b@6 z@9", 2},
		{3, 5, "a@3 b@4 z@9", 2},
		{0, 3, "a@1 b@2 z@9", 0},
		{7, 0, "z@9", 6},
	} {
		var o archive.ReadOptions
		if test.from > 0 {
			o.From = hour(test.from)
		}
		if test.to > 0 {
			o.To = hour(test.to)
		}
		var last archive.ReadProgress
		o.Progress = func(p archive.ReadProgress) { last = p }
		if got := read(t, store, o); got != test.want || last.Skipped != test.skipped {
			t.Errorf("from %d to %d: %s without %d objects, want %s without %d", test.from, test.to, got, last.Skipped, test.want, test.skipped)
		}
	}
	for _, err := range archive.Read(t.Context(), store, archive.ReadOptions{From: hour(2), To: hour(1)}) {
		if err == nil || !strings.Contains(err.Error(), "not before") {
			t.Errorf("error %v", err)
		}
	}
}

// If objects are frozen, Read names all of them in one error before it reads anything. Restored objects are read.
func TestReadNamesWhatIsFrozen(t *testing.T) {
	store := &memory{class: make(map[string]string), frozen: make(map[string]bool)}
	want := scattered(t, store, 300)
	asleep := 0
	for i, name := range store.names() {
		store.class[name] = []string{"STANDARD", "GLACIER", "DEEP_ARCHIVE"}[i%3]
		if i%3 == 1 || i == 2 {
			store.frozen[name] = true
			asleep++
		}
	}
	n := 0
	for e, err := range archive.Read(t.Context(), store, archive.ReadOptions{}) {
		n++
		frozen, ok := errors.AsType[*archive.FrozenError](err)
		if !ok || e.Line != nil || len(frozen.Objects) != asleep {
			t.Fatalf("error %v with %+v, want %d objects", err, e, asleep)
		}
		text := err.Error()
		if !strings.Contains(text, "wake "+frozen.Objects[0].Name) || strings.Count(text, "\n") != asleep {
			t.Errorf("error %s", text)
		}
	}
	if n != 1 {
		t.Errorf("%d yields", n)
	}
	clear(store.frozen)
	if got := read(t, store, archive.ReadOptions{}); got != want {
		t.Errorf("restored: read back\n%.300s, want\n%.300s", got, want)
	}
}

// If an archive has a change both as a record and as plain JSON, Read returns the record, because the record has more
// information.
func TestReadPrefersRecords(t *testing.T) {
	store := &memory{}
	for _, o := range []archive.Options{{Prefix: "a/", Images: archive.PlainJSON}, {Prefix: "b/"}, {Prefix: "c/", Images: archive.PlainJSON}} {
		o.Store = store
		mustWrite(t, newSink(t, o), changes(t, line("INSERT", "a", 1, ""))...)
	}
	for e, err := range archive.Read(t.Context(), store, archive.ReadOptions{}) {
		if err != nil || e.Change == nil || e.Change.Op != record.Insert {
			t.Errorf("entry %+v (%v)", e, err)
		}
	}
}
