package archive_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/sinks/archive"
)

// tagging is a store in memory that also returns tags and removes objects.
type tagging struct {
	*memory
	crash error // error of every Remove, or nil
}

var (
	_ archive.Remover = tagging{}
	_ archive.Tagger  = tagging{}
)

func (s tagging) Remove(_ context.Context, names []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.crash != nil {
		return s.crash
	}
	for _, name := range names {
		delete(s.objects, name)
	}
	return nil
}

func (s tagging) Tags(_ context.Context, name string) ([]archive.Tag, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.put {
		if o.Name == name {
			return o.Tags, nil
		}
	}
	return nil, nil
}

func compact(t *testing.T, o archive.CompactOptions) archive.CompactProgress {
	t.Helper()
	p, err := archive.Compact(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// lines returns all different lines of the objects of a store, sorted.
func lines(t *testing.T, m *memory) []string {
	t.Helper()
	var all []string
	for _, name := range m.names() {
		all = append(all, strings.Split(strings.TrimSuffix(m.text(t, name), "\n"), "\n")...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Objects count as replaced only when they are.
func TestCompact_Failed(t *testing.T) {
	for name, breaks := range map[string]func(*tagging){
		"before the small objects are removed": func(s *tagging) { s.crash = errors.New("crash") },
		"at a damaged object":                  func(s *tagging) { s.objects[s.names()[3]] = []byte("x") },
	} {
		store := tagging{memory: &memory{}}
		scattered(t, store.memory, 10)
		breaks(&store)
		p, err := archive.Compact(t.Context(), archive.CompactOptions{Store: store})
		if err == nil || p.Large != 0 || p.Objects != 0 || p.Bytes != 0 || p.LargeBytes != 0 {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

func TestCompact(t *testing.T) {
	store := &memory{}
	want := scattered(t, store, 100)
	before, objects := lines(t, store), len(store.objects)
	dry := compact(t, archive.CompactOptions{Store: tagging{memory: store}, DryRun: true})
	if len(store.objects) != objects || dry.Large != 1 || int(dry.Objects) != objects || dry.LargeBytes != 0 {
		t.Errorf("a dry run tells %+v, and leaves %d objects of %d", dry, len(store.objects), objects)
	}
	var told archive.CompactProgress
	done := compact(t, archive.CompactOptions{Store: tagging{memory: store}, Progress: func(p archive.CompactProgress) { told = p }})
	if len(store.objects) != 1 || done.Large != 1 || int(done.Objects) != objects || done.LargeBytes == 0 || told != done {
		t.Errorf("%d objects are left; told %+v", len(store.objects), done)
	}
	if got := read(t, store, archive.ReadOptions{}); got != want {
		t.Errorf("read back\n%s, want\n%s", got, want)
	}
	if got := lines(t, store); !slices.Equal(got, before) {
		t.Errorf("%d lines, want %d", len(got), len(before))
	}
	if again := compact(t, archive.CompactOptions{Store: tagging{memory: store}}); again.Large != 0 || again.Unchanged != 1 {
		t.Errorf("the next run does %+v", again)
	}
}

// If Compact crashes between writing and removing, the archive has changes twice but loses none. The next run finishes
// the work.
func TestCompactCrashes(t *testing.T) {
	store := &memory{}
	want := scattered(t, store, 60)
	crash := errors.New("crash")
	for range 2 {
		if _, err := archive.Compact(t.Context(), archive.CompactOptions{Store: tagging{store, crash}}); !errors.Is(err, crash) {
			t.Errorf("error %v", err)
		}
		if got := read(t, store, archive.ReadOptions{}); got != want {
			t.Errorf("after a crash: read back\n%s, want\n%s", got, want)
		}
	}
	compact(t, archive.CompactOptions{Store: tagging{memory: store}})
	if got := read(t, store, archive.ReadOptions{}); got != want || len(store.objects) != 1 {
		t.Errorf("in the end: %d objects, read back\n%s, want\n%s", len(store.objects), got, want)
	}
}

// Compact does not merge objects of different folders, formats or tags. It leaves alone objects in GLACIER, single
// objects of a folder, and objects of the layout per item.
func TestCompactLeavesAlone(t *testing.T) {
	store := &memory{class: make(map[string]string)}
	folders := map[string]int{}
	add := func(o archive.Options, class string, n int) {
		o.Store = store
		s := newSink(t, o)
		for i := range n {
			mustWrite(t, s, changes(t, line("INSERT", fmt.Sprintf("k%d", len(store.put)), i+1, ""))...)
			name := store.put[len(store.put)-1].Name
			store.class[name] = class
		}
		folders[o.Prefix]++
	}
	add(archive.Options{Prefix: "a/"}, "STANDARD", 3)
	add(archive.Options{Prefix: "a/b/"}, "", 2)
	add(archive.Options{Prefix: "c/", Format: archive.JSONLGzip}, "STANDARD", 3)
	add(archive.Options{Prefix: "c/"}, "STANDARD", 2)
	add(archive.Options{Prefix: "cold/"}, "GLACIER", 3)
	add(archive.Options{Prefix: "one/"}, "STANDARD", 1)
	add(archive.Options{Prefix: "p/", Format: archive.Parquet}, "STANDARD", 2)
	add(archive.Options{Prefix: "t/", Tags: tags(t, "team", "x")}, "STANDARD", 2)
	add(archive.Options{Prefix: "t/", Tags: tags(t, "team", "y")}, "STANDARD", 2)
	add(archive.Options{Prefix: "items/", Layout: archive.PerItem, Key: parse(t, "{@key}/{@version}.json")}, "STANDARD", 2)
	want := read(t, store, archive.ReadOptions{})
	done := compact(t, archive.CompactOptions{Store: tagging{memory: store}})
	count := make(map[string]int)
	for _, name := range store.names() {
		count[name[:strings.LastIndexByte(name, '/')+1]]++
	}
	for folder, n := range map[string]int{"a/": 1, "a/b/": 1, "c/": 2, "cold/": 3, "one/": 1, "p/": 1, "t/": 2} {
		if count[folder] != n {
			t.Errorf("%s holds %d objects, want %d", folder, count[folder], n)
		}
	}
	if done.Large != 7 || done.UnchangedByClass != 3 || done.Unchanged != 1 {
		t.Errorf("told %+v", done)
	}
	for _, o := range store.put[len(store.put)-2:] {
		if strings.HasPrefix(o.Name, "t/") && len(o.Tags) != 1 {
			t.Errorf("%s has the tags %v", o.Name, o.Tags)
		}
	}
	if got := read(t, store, archive.ReadOptions{}); got != want {
		t.Errorf("read back\n%s, want\n%s", got, want)
	}
}

// Compact loses no line, however the changes are cut into objects and whatever size counts as small. If a version has
// two different lines, Compact keeps both.
func TestCompactKeepsEveryLine(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		store := &memory{}
		for range rapid.IntRange(1, 12).Draw(rt, "objects") {
			o := archive.Options{Store: store, Partition: parse(t, "pk={PK}")}
			if rapid.Bool().Draw(rt, "plain") {
				o.Images = archive.PlainJSON
			}
			n := rapid.IntRange(1, 5).Draw(rt, "change")
			other := rapid.SampledFrom([]string{"", `,"x":null`}).Draw(rt, "bytes")
			mustWrite(t, newSink(t, o), changes(t, line("MODIFY", string("ab"[n%2]), n, other), line("MODIFY", "a", n+1, other))...)
		}
		want, wantRead := lines(t, store), read(t, store, archive.ReadOptions{})
		size := rapid.Int64Range(1, 4000).Draw(rt, "target")
		for range 2 {
			if _, err := archive.Compact(t.Context(), archive.CompactOptions{Store: tagging{memory: store}, Target: size, Small: size}); err != nil {
				rt.Fatal(err)
			}
			if got := lines(t, store); !slices.Equal(got, want) {
				rt.Fatalf("lines\n%s, want\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if got := read(t, store, archive.ReadOptions{}); got != wantRead {
				rt.Fatalf("read back %s, want %s", got, wantRead)
			}
		}
	})
}

// If a store damages the large object, Compact returns an error and removes no small object.
func TestCompactVerifies(t *testing.T) {
	store := &memory{}
	want := scattered(t, store, 20)
	objects := len(store.objects)
	_, err := archive.Compact(t.Context(), archive.CompactOptions{Store: forgetful{tagging{memory: store}}})
	if err == nil {
		t.Error("no error")
	}
	for _, o := range store.put[objects:] {
		delete(store.objects, o.Name)
	}
	if got := read(t, store, archive.ReadOptions{}); got != want {
		t.Errorf("read back\n%s, want\n%s", got, want)
	}
	for want, o := range map[string]archive.CompactOptions{
		"Store is nil": {},
		"Small is 5":   {Store: tagging{memory: store}, Small: 5, Target: 4},
	} {
		if _, err := archive.Compact(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one of %q", err, want)
		}
	}
}

// forgetful is a store that keeps only the first half of each object.
type forgetful struct{ tagging }

func (s forgetful) Put(ctx context.Context, o archive.Object) error {
	o.Body = o.Body[:len(o.Body)/2]
	return s.tagging.Put(ctx, o)
}
