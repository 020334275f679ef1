package archive_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/archive"
)

// putOnly is a store that cannot replace objects.
type putOnly struct{ archive.Store }

// newest returns a sink that keeps only the newest change of each item.
func newest(t *testing.T, store archive.Store, images archive.LineFormat) *archive.Sink {
	t.Helper()
	return newSink(t, archive.Options{
		Store: store, Prefix: "archive/", Layout: archive.PerItem, Images: images, Key: parse(t, "{PK}.json"), RawNames: true,
	})
}

// The object of an item ends with the newest change of the item, in whatever order and batches the changes arrive.
func TestNewest(t *testing.T) {
	for _, images := range []archive.LineFormat{archive.DynamoDBJSON, archive.PlainJSON} {
		for _, test := range []struct {
			batches [][]int
			want    string
		}{
			{[][]int{{1}, {2}, {3}}, "written; written; written"},
			{[][]int{{3}, {1}, {2}, {3}}, "written; superseded; superseded; written"},
			{[][]int{{1, 2, 3}, {2, 1}}, "coalesced coalesced written; superseded superseded"},
			{[][]int{{2, 3, 3, 1}}, "coalesced written coalesced coalesced"},
		} {
			store := &memory{}
			var outcomes []string
			for _, batch := range test.batches {
				var cs []*record.Change
				for _, n := range batch {
					cs = append(cs, changes(t, line("MODIFY", "USER#1/x", n, ""))...)
				}
				outcomes = append(outcomes, mustWrite(t, newest(t, store, images), cs...))
			}
			if got := strings.Join(outcomes, "; "); got != test.want {
				t.Errorf("%v: %s, want %s", test.batches, got, test.want)
			}
			if names := store.names(); !slices.Equal(names, []string{"archive/USER#1/x.json"}) {
				t.Errorf("objects %q", names)
			}
			if got, want := read(t, store, archive.ReadOptions{}), "USER%231%2Fx@3"; got != want {
				t.Errorf("%v: read back %s, want %s", test.batches, got, want)
			}
			o := store.put[len(store.put)-1]
			if o.Item != "USER%231%2Fx" || o.Version != versionOf(3) || o.Identity != "" {
				t.Errorf("written as %q %q %q", o.Item, o.Version, o.Identity)
			}
		}
	}
}

// A change of a later stream is newer than all changes of an earlier stream, even if its sequence number is smaller.
func TestNewest_LaterStreamWins(t *testing.T) {
	store := &memory{}
	later := strings.Replace(line("MODIFY", "a", 1, ""), arn, strings.Replace(arn, "2026-01-02", "2026-01-03", 1), 1)
	for _, lines := range [][]string{{line("INSERT", "a", 9, ""), later}, {line("INSERT", "a", 8, "")}} {
		for _, l := range lines {
			mustWrite(t, newest(t, store, ""), changes(t, l)...)
		}
		if got, want := read(t, store, archive.ReadOptions{}), "a@1"; got != want {
			t.Errorf("read back %s, want %s", got, want)
		}
	}
}

// The sink does not replace an object of another item or of no item. The error contains the keys of both items, and the
// text for logs contains neither.
func TestNewest_ObjectsOfOthersStay(t *testing.T) {
	store := &memory{objects: map[string][]byte{"x/3/4.json": []byte("{}")}}
	s := newSink(t, archive.Options{
		Store: store, Layout: archive.PerItem, Key: parse(t, "x/{PK}.json"), RawNames: true,
	})
	cs := changes(t, line("INSERT", "1/2", 1, ""), line("INSERT", "3/4", 2, ""))
	_, err := write(t, s, cs...)
	failed, ok := errors.AsType[*pipeline.BatchError](err)
	if !ok || len(failed.Failed) != 1 || !strings.Contains(failed.Failed[1].Error(), "3%2F4") {
		t.Fatalf("error %v", err)
	}
	other := newSink(t, archive.Options{Store: store, Layout: archive.PerItem, Key: parse(t, "x/{PK|before:-}/2.json")})
	_, err = write(t, other, changes(t, line("INSERT", "1-secret", 3, ""), line("INSERT", "1-secret", 4, ""))...)
	failed, ok = errors.AsType[*pipeline.BatchError](err)
	if !ok || len(failed.Failed) != 2 {
		t.Fatalf("error %v", err)
	}
	for _, err := range failed.Failed {
		shown := redact.LogText(err)
		if _, retry := pipeline.Retryable(err); retry || !strings.Contains(err.Error(), "1%2F2") || !strings.Contains(err.Error(), "1-secret") ||
			strings.Contains(shown, "secret") || strings.Contains(shown, "1%2F2") {
			t.Errorf("error %v, shown as %s", err, shown)
		}
	}
	if got, want := read(t, store, archive.ReadOptions{Prefix: "x/1"}), "1%2F2@1"; got != want {
		t.Errorf("read back %s, want %s", got, want)
	}
	if string(store.objects["x/3/4.json"]) != "{}" {
		t.Error("an object of no item was replaced")
	}
}

// racing is a store in which another writer changes or removes the object before each of the next Replace calls.
type racing struct {
	*memory
	left    int
	removes bool
	bodies  []string
}

func (r *racing) Replace(ctx context.Context, o archive.Object, stored archive.Stored) error {
	if r.left > 0 {
		r.left--
		if r.removes {
			delete(r.objects, o.Name)
		} else {
			r.objects[o.Name] = []byte(r.bodies[r.left%2])
		}
	}
	return r.memory.Replace(ctx, o, stored)
}

// If another writer replaces the object first, the sink tries again. After too many lost races the error is transient,
// so that the pipeline retries.
func TestNewest_LostRaces(t *testing.T) {
	for _, test := range []struct {
		left    int
		removes bool
		retry   bool
	}{{3, false, false}, {101, false, true}, {1, true, false}} {
		store := &racing{memory: &memory{}, left: 0, removes: test.removes}
		s := newest(t, store, "")
		for n := 1; n <= 2; n++ {
			mustWrite(t, s, changes(t, line("MODIFY", "a", n, ""))...)
			store.bodies = append(store.bodies, string(store.objects["archive/a.json"]))
		}
		store.left = test.left
		_, err := write(t, s, changes(t, line("MODIFY", "a", 3, ""))...)
		failed, ok := errors.AsType[*pipeline.BatchError](err)
		if ok != test.retry {
			t.Fatalf("%+v: %v", test, err)
		}
		if ok {
			if _, retry := pipeline.Retryable(failed.Failed[0]); !retry {
				t.Errorf("%v is not retried", err)
			}
			continue
		}
		if got := read(t, store, archive.ReadOptions{}); got != "a@3" {
			t.Errorf("%+v: read back %s", test, got)
		}
	}
}

// If the newest change of an item cannot be written, the sink writes the newest of the older changes instead.
func TestNewest_OlderIsWrittenInstead(t *testing.T) {
	store := &refusing{memory: &memory{}, version: versionOf(3)}
	outcomes, err := write(t, newest(t, store, ""), changes(t, line("INSERT", "a", 1, ""), line("MODIFY", "a", 2, ""), line("MODIFY", "a", 3, ""))...)
	failed, ok := errors.AsType[*pipeline.BatchError](err)
	if !ok || len(failed.Failed) != 1 || failed.Failed[2] == nil || outcomes != "coalesced written written" {
		t.Errorf("%s, error %v", outcomes, err)
	}
	if got := read(t, store, archive.ReadOptions{}); got != "a@2" {
		t.Errorf("read back %s", got)
	}
}

// refusing is a store that refuses objects of one version.
type refusing struct {
	*memory
	version string
}

func (r *refusing) Put(ctx context.Context, o archive.Object) error {
	if o.Version == r.version {
		return errors.New("too large")
	}
	return r.memory.Put(ctx, o)
}

// A source does not replay an archive that has only the newest changes. If the whole history is also in the archive,
// the source replays without an error.
func TestNewest_IsNoHistory(t *testing.T) {
	store := &memory{}
	mustWrite(t, newest(t, store, ""), changes(t, line("INSERT", "a", 1, ""), line("MODIFY", "a", 2, ""))...)
	if got := store.text(t, "archive/a.json"); !strings.HasPrefix(got, `{"tablewakeNewestOnly":true,"`) {
		t.Errorf("the object holds %s", got)
	}
	replay := func(prefix string) error {
		s, err := archive.NewSource(archive.SourceOptions{Store: store, Read: archive.ReadOptions{Prefix: prefix}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for {
			page, err := s.Read(t.Context())
			if page == nil {
				return err
			}
		}
	}
	if err := replay(""); !errors.Is(err, archive.ErrNewestOnly) {
		t.Errorf("replayed: %v", err)
	}
	mustWrite(t, newSink(t, archive.Options{Store: store}), changes(t, line("INSERT", "a", 1, ""), line("MODIFY", "a", 2, ""))...)
	if err := replay(""); errors.Is(err, archive.ErrNewestOnly) {
		t.Errorf("replayed with its history: %v", err)
	}
}

// If keys are too long for the metadata of an object, the sink compares a digest of them.
func TestNewest_LongKeys(t *testing.T) {
	store := &memory{}
	long := strings.Repeat("k", 1500)
	s := newSink(t, archive.Options{Store: store, Layout: archive.PerItem, Key: parse(t, "{PK|before:-}.json")})
	mustWrite(t, s, changes(t, line("INSERT", "a-"+long+"1", 1, ""))...)
	mustWrite(t, s, changes(t, line("MODIFY", "a-"+long+"1", 2, ""))...)
	if _, err := write(t, s, changes(t, line("INSERT", "a-"+long+"2", 3, ""))...); err == nil {
		t.Error("two long keys are the same item")
	}
	if o := store.put[0]; len(o.Item) != 1000 {
		t.Errorf("the label has %d bytes", len(o.Item))
	}
}

// A raw name consists of exactly the texts of the values. If such a name would lead out of the archive, to internal
// objects of the archive or to an object of the log layout, planning the change fails.
func TestRawNames(t *testing.T) {
	s := newest(t, &memory{}, "")
	plan := func(pk string) (string, error) {
		rec := `{"eventName":"REMOVE","dynamodb":{"SequenceNumber":"1","Keys":{"PK":` + string(item.StringValue(pk).AppendDynamoDBJSON(nil)) +
			`}},"eventSourceARN":"` + arn + `"}`
		d := pipeline.Delivery{Change: change(t, rec, record.DecoderOptions{})}
		if err := s.Plan(&d); err != nil {
			return "", err
		}
		if got, want := d.Ops[0].String(), "write object "+d.Ops[0].(*archive.Put).Name+" unless it is newer (user_delete)"; got != want {
			t.Errorf("op %q, want %q", got, want)
		}
		return d.Ops[0].(*archive.Put).Name, nil
	}
	for pk, want := range map[string]string{
		"USER#1":     "archive/USER#1.json",
		"a/b#c":      "archive/a/b#c.json",
		"ü %2F?":     "archive/ü %2F?.json",
		"_none":      "archive/_none.json",
		"..":         "archive/...json",
		"a/.../b":    "archive/a/.../b.json",
		"a/b~":       "archive/a/b~.json",
		"x.parquet/": "archive/x.parquet/.json",
	} {
		if got, err := plan(pk); err != nil || got != want {
			t.Errorf("%q is named %q (%v), want %q", pk, got, err, want)
		}
	}
	for _, pk := range []string{
		"../x", "a/../../x", "/x", "a//b", "./a", "a/./b", "\x00", "a\nb", `a\b`, "~tmp/x", "a/~x", ".~fingerprints/x", "a/.~fingerprints/x",
	} {
		name, err := plan(pk)
		if err == nil {
			t.Errorf("%q is named %q", pk, name)
			continue
		}
		if _, retry := pipeline.Retryable(err); retry || strings.Contains(redact.LogText(err), pk) {
			t.Errorf("%q: %v, shown as %s", pk, err, redact.LogText(err))
		}
	}
	s = newSink(t, archive.Options{Store: &memory{}, Layout: archive.PerItem, Key: parse(t, "{PK}"), RawNames: true})
	if name, err := plan("a.parquet"); err == nil {
		t.Errorf("an item is named like an object of the log: %q", name)
	}
}

// Every raw name that planning accepts is also a valid name for a server that keeps objects as files.
func TestRawNamesAreSafe(t *testing.T) {
	s := newSink(t, archive.Options{Store: &memory{}, Prefix: "p/", Layout: archive.PerItem, Key: parse(t, "{PK}/x{PK}"), RawNames: true})
	text := rapid.OneOf(rapid.StringMatching(`[a~./]{1,6}`), rapid.StringMatching(`[ab/]{180,900}`), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		pk := text.Draw(t, "PK")
		rec := `{"eventName":"REMOVE","dynamodb":{"SequenceNumber":"1","Keys":{"PK":` + string(item.StringValue(pk).AppendDynamoDBJSON(nil)) +
			`}},"eventSourceARN":"` + arn + `"}`
		page, err := record.NewDecoder(record.DecoderOptions{}).Decode([]byte(rec))
		if err != nil || len(page.Changes) != 1 {
			t.Skip()
		}
		d := pipeline.Delivery{Change: &page.Changes[0]}
		if err := s.Plan(&d); err != nil {
			return
		}
		name := d.Ops[0].(*archive.Put).Name
		if !strings.HasPrefix(name, "p/") || len(name) > 1024 {
			t.Fatalf("%q is named %q", pk, name)
		}
		for _, segment := range strings.Split(name, "/") {
			if segment == "" || segment == "." || segment == ".." || len(segment) > 255 || segment == archive.Fingerprints || strings.ContainsAny(segment, "\\\x00") {
				t.Fatalf("%s has the segment %q", name, segment)
			}
		}
	})
}
