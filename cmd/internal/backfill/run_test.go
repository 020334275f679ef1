package backfill_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/clitest"
	"github.com/tablewake/tablewake/sinks/state"
)

// history returns n changes, each of another item.
func history(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		b.WriteString(clitest.Order(string(rune('a'+i%26))+strings.Repeat("x", i/26), "1"))
	}
	return b.Bytes()
}

// expectUsage requires that the backfill with the arguments is refused with a text.
func (w *itemsWorld) expectUsage(want string, args ...string) {
	w.t.Helper()
	if text, said := program.Run(w.t, cli.ExitUsage, args...); !strings.Contains(text+said, want) {
		w.t.Errorf("%s: it says %s%s", args, text, said)
	}
}

// A killed run is continued only with its sinks and its source. No other command reads into its sinks, takes a sink from
// it, or makes a sink live.
func TestKilledRunKeepsItsSinksAndSource(t *testing.T) {
	for _, source := range []string{"--items", "--archive"} {
		w := newItemsWorld(t, "  users: {view: {table: users, key: {PK: 'U#{@key}'}}}\n")
		w.put("items.jsonl", itemLines(4000))
		w.put("stream.jsonl", history(800))
		w.put("other.jsonl", itemLines(10))
		w.put("other_stream.jsonl", history(10))
		base := slices.Clone(w.args[:5])
		with := func(more ...string) []string { return slices.Concat(base, more) }
		items := with("--keys", "PK", "--items", w.in("items.jsonl"))
		archive := with("--archive", w.in("stream.jsonl"))
		refused := []string{"items " + w.in("items.jsonl"), "archive " + w.in("stream.jsonl")}
		w.args = items
		if source == "--archive" {
			w.args = archive
			slices.Reverse(refused)
		}
		w.interrupt()
		for _, other := range [][]string{items, archive, with("--archive", w.in("other_stream.jsonl"))} {
			if !slices.Equal(other, w.args) {
				w.expectUsage("reads "+refused[0], other...)
				w.expectUsage("reads "+refused[0], append(slices.Clone(other), "--sink", "rows,users")...)
				w.expectUsage("reads "+refused[0], append(slices.Clone(other), "--dry-run")...)
			}
		}
		w.expectUsage("fills rows, users, and not rows: name the same sinks", append(slices.Clone(w.args), "--sink", "rows")...)
		w.expectUsage("and not users: name the same sinks", with("--sink", "users", "--none")...)
		w.expectUsage("--none: the sink rows does not wait: it is filling", with("--sink", "rows,users", "--none")...)
		if text, said := program.Run(t, cli.ExitOK, w.args...); !strings.Contains(text, "\nrows, users: live\n") {
			t.Errorf("the same command says %s%s", text, said)
		}
	}
}

// A run that has read all of its source makes its sinks live only if the command names that source.
func TestSettlingRunKeepsItsSource(t *testing.T) {
	dir, cfg, items := files(t)
	w := &itemsWorld{t: t, dir: dir}
	w.put("other.jsonl", itemLines(3))
	w.put("stream.jsonl", history(3))
	args := func(more ...string) []string {
		return append([]string{"backfill", "-c", cfg, "--local", w.in("out")}, more...)
	}
	settle := func() {
		t.Helper()
		changeBirths(t, w.in("out"), func(b *state.Birth) {
			b.Stage, b.ReadUntil = state.Settling, time.Now().UTC().Truncate(time.Second)
		})
	}
	same := args("--keys", "PK", "--items", items)
	program.Run(t, cli.ExitOK, same...)
	settle()
	w.expectUsage("reads items "+items, args("--keys", "PK", "--items", w.in("other.jsonl"))...)
	w.expectUsage("reads items "+items, args("--archive", w.in("stream.jsonl"))...)
	w.expectUsage("--prepare sets the floor of sinks that wait, and none of these does (a, b, c)", args("--prepare")...)
	if text, said := program.Run(t, cli.ExitOK, same...); !strings.Contains(text, "a, b, c: live\n") {
		t.Errorf("the same command says %s%s", text, said)
	}
}

// --prepare changes only sinks that wait.
func TestPrepareWithoutAWaitingSink(t *testing.T) {
	w := newItemsWorld(t, "")
	w.put("items.jsonl", itemLines(5))
	w.put("nothing.jsonl", []byte("[]"))
	local := []string{"-c", w.in("tablewake.yaml"), "--local", w.in("out")}
	program.Run(t, cli.ExitOK, slices.Concat([]string{"replay"}, local, []string{w.in("nothing.jsonl")})...)
	w.expectUsage("none of these does (rows): name the source, without --prepare", slices.Concat([]string{"backfill"}, local, []string{"--prepare"})...)
	if text, _ := program.Run(t, cli.ExitOK, slices.Concat([]string{"plan"}, local)...); !strings.Contains(text, "= rows") {
		t.Errorf("plan says %s", text)
	}
	w.completed("rows", 5)
}

// A command that fills a part of the sinks of a run that has written nothing takes them from it. A process of that run
// then writes nothing.
func TestRunThatHasWrittenNothingIsAbandoned(t *testing.T) {
	dir, cfg, items := files(t)
	w := &itemsWorld{t: t, dir: dir}
	args := []string{"backfill", "-c", cfg, "--local", w.in("out"), "--keys", "PK", "--items", items}
	w.put("nothing.jsonl", []byte("[]"))
	program.Run(t, cli.ExitOK, "replay", "-c", cfg, "--local", w.in("out"), w.in("nothing.jsonl"))
	changeBirths(t, w.in("out"), func(b *state.Birth) { b.Stage, b.Run = state.Filling, "r" })
	program.Run(t, cli.ExitOK, append(slices.Clone(args), "--sink", "a")...)
	program.Run(t, cli.ExitOK, "backfill", "-c", cfg, "--local", w.in("out"), "--sink", "b", "--none")
	changeBirths(t, w.in("out"), func(b *state.Birth) { // as if a process of r had read the births before
		if b.Sink != "c" {
			b.Stage, b.Run = state.Filling, "r"
		}
	})
	w.args = args
	w.completed("a, b, c", 3)
}

// If a narrowing selects items for some sinks only, the others are not live. A corrected command fills them.
func TestNarrowingThatSelectsNothingForASink(t *testing.T) {
	w := newItemsWorld(t, `  paid: {view: {table: paid, key: {PK: 'P#{@key}'}, when: 'item.Status == "paid"'}}
  users: {view: {table: users, key: {PK: 'U#{@key}'}, of: User}}
entities:
  User: {key: {PK: 'USER#{Id}'}}
`)
	orders := bytes.ReplaceAll(itemLines(50), []byte(`}}`), []byte(`},"Type":{"S":"Order"},"Status":{"S":"open"}}`))
	w.put("items.jsonl", append(orders, []byte(`{"PK":{"S":"USER#1"},"Type":{"S":"User"},"Status":{"S":"paid"}}`+"\n")...))
	all := w.args
	w.args = append(slices.Clone(all), "--type", "Order")
	text, said := program.Run(t, cli.ExitFailure, w.args...)
	if !strings.Contains(text, "\nrows: live\n") || !strings.Contains(said, "select no item of the source for paid, users (") ||
		!strings.Contains(said, "--sink paid,users --none`") {
		t.Errorf("it says %s%s", text, said)
	}
	if text, said := program.Run(t, cli.ExitOK, append(slices.Clone(all), "--type", "User")...); !strings.Contains(text, "\npaid, users: live\n") {
		t.Errorf("the correction says %s%s", text, said)
	}
}

// An archive without a change leaves the run free to read another source.
func TestEmptyArchive(t *testing.T) {
	w := newItemsWorld(t, "")
	w.put("items.jsonl", itemLines(5))
	w.put("empty.jsonl", []byte("[]"))
	args := slices.Concat(w.args[:5], []string{"--archive", w.in("empty.jsonl")})
	if _, said := program.Run(t, cli.ExitFailure, args...); !strings.Contains(said, "the archive has no change") {
		t.Errorf("it says %s", said)
	}
	w.completed("rows", 5)
}

// An archive that is refused leaves a sink waiting. So a source that is older than its floor stays refused.
func TestEmptyArchive_OfAWaitingSink(t *testing.T) {
	w := newItemsWorld(t, "")
	w.put("items.jsonl", itemLines(5))
	w.put("nothing.jsonl", []byte("[]"))
	local := []string{"-c", w.in("tablewake.yaml"), "--local", w.in("out")}
	program.Run(t, cli.ExitOK, slices.Concat([]string{"replay"}, local, []string{w.in("nothing.jsonl")})...)
	changeBirths(t, w.in("out"), func(b *state.Birth) { b.Stage = state.Waiting })
	twoHoursAgo := time.Now().Add(-2 * time.Hour).UTC().Format(time.RFC3339)
	items := slices.Concat([]string{"backfill"}, local,
		[]string{"--keys", "PK", "--items", w.in("items.jsonl"), "--shown-at", twoHoursAgo})
	w.expectUsage("a sink waits", items...)
	archive := slices.Concat([]string{"backfill"}, local, []string{"--archive", w.in("nothing.jsonl")})
	if _, said := program.Run(t, cli.ExitFailure, archive...); !strings.Contains(said, "the archive has no change") {
		t.Errorf("it says %s", said)
	}
	w.expectUsage("a sink waits", items...)
}

// A process was killed after it stored the backfill of an archive, and before it cleared the floor that --prepare has
// set. The same command clears the floor, because the stream must leave out no change.
func TestArchiveAfterPrepare_Killed(t *testing.T) {
	w := newItemsWorld(t, "")
	w.put("stream.jsonl", history(3))
	settings := readFile(t, w.in("tablewake.yaml"))
	folder := []string{"-c", w.in("tablewake.yaml"), "--local", w.in("out")}
	w.put("tablewake.yaml", []byte(strings.ReplaceAll(settings, "rows: {view: {table: rows", "first: {view: {table: first")))
	program.Run(t, cli.ExitOK, slices.Concat([]string{"replay"}, folder, []string{w.in("stream.jsonl")})...)
	w.put("tablewake.yaml", []byte(settings))
	fill := slices.Concat([]string{"backfill", "--sink", "rows"}, folder)
	program.Run(t, cli.ExitOK, slices.Concat(fill, []string{"--prepare"})...)
	w.withBirth("rows", func(kept state.Store, b state.Birth) error {
		if b.Floor.IsZero() {
			t.Error("--prepare has set no floor")
		}
		_, err := kept.AddBackfill(t.Context(), state.Backfill{Run: b.Run, Sinks: "rows",
			Source: "archive " + w.in("stream.jsonl"), Start: time.Now().UTC().Truncate(time.Second)})
		return err
	})
	w.args = slices.Concat(fill, []string{"--archive", w.in("stream.jsonl")})
	w.completed("rows", 3)
	w.withBirth("rows", func(_ state.Store, b state.Birth) error {
		if !b.Floor.IsZero() {
			t.Errorf("the floor is %v", b.Floor)
		}
		return nil
	})
}

// After a run was killed, one of its sinks waits again, because the file has other settings for it. The run continues
// without the sink, and says so.
func TestKilledRun_SinkWaitsAgain(t *testing.T) {
	w := newItemsWorld(t, "  users: {view: {table: users, key: {PK: 'U#{@key}'}}}\n")
	w.put("items.jsonl", itemLines(4000))
	w.interrupt()
	w.withBirth("users", func(kept state.Store, b state.Birth) error {
		next := b
		next.Stage, next.Run = state.Waiting, ""
		_, err := kept.SetBirth(t.Context(), b, next)
		return err
	})
	text, said := program.Run(t, cli.ExitOK, w.args...)
	const warning = "warning: the sink users waits, and this run does not fill it: when the run has ended, fill it with --sink users\n"
	if !strings.HasPrefix(said, warning) || !strings.HasSuffix(text, "\nrows: live\n") {
		t.Errorf("it says %s%s", said, text)
	}
}

// A run began with the wrong source. If its sinks get other names and places, a backfill from the right source fills
// these.
func TestKilledRun_WrongSource(t *testing.T) {
	w := newItemsWorld(t, "")
	w.put("wrong.jsonl", history(800))
	w.put("right.jsonl", history(3))
	fill := slices.Clone(w.args[:5])
	w.args = slices.Concat(fill, []string{"--archive", w.in("wrong.jsonl")})
	w.interrupt()
	right := slices.Concat(fill, []string{"--archive", w.in("right.jsonl")})
	w.expectUsage("or give the sinks another name and a place of their own, and fill those from this source, with --sink", right...)
	settings := readFile(t, w.in("tablewake.yaml"))
	w.put("tablewake.yaml", []byte(strings.ReplaceAll(settings, "rows: {view: {table: rows", "again: {view: {table: again")))
	if text, said := program.Run(t, cli.ExitOK, right...); !strings.HasPrefix(text[strings.LastIndex(text, "\nagain: "):], "\nagain: live") {
		t.Errorf("it says %s%s", said, text)
	}
}

// withBirth calls do with the state and the birth of a sink.
func (w *itemsWorld) withBirth(sink string, do func(state.Store, state.Birth) error) {
	w.t.Helper()
	w.withState(func(kept state.Store) {
		for b, err := range kept.Births(w.t.Context()) {
			if err == nil && b.Sink == sink {
				err = do(kept, b)
			}
			if err != nil {
				w.t.Fatal(err)
			}
		}
	})
}

// The masks of an archive are no values for other sinks.
func TestMaskedArchiveIsNoSource(t *testing.T) {
	w := newItemsWorld(t, "  log: {archive: {masked: true}}\nsensitive: [Email]\nhmac_key: '${SECRET:-0123456789abcdef0123}'\n")
	local := []string{"-c", w.in("tablewake.yaml"), "--local", w.in("out")}
	w.put("stream.jsonl", history(3))
	program.Run(t, cli.ExitOK, slices.Concat([]string{"replay"}, local, []string{w.in("stream.jsonl")})...)
	archive := w.in("out/archive/log")
	const want = "has the archive log, in which sensitive values are masked (Email)"
	w.expectUsage(want, slices.Concat([]string{"backfill", "--archive", archive}, local)...)
	w.expectUsage(want, slices.Concat([]string{"replay", "--rebuild", archive}, local)...)
}

// An archive of the pipeline is a source only after the backfill that fills it.
func TestArchiveThatIsBeingFilledIsNoSource(t *testing.T) {
	w := newItemsWorld(t, "  users: {view: {table: users, key: {PK: 'U#{@key}'}}}\n  log: {archive: {}}\n")
	w.put("items.jsonl", itemLines(4000))
	base := slices.Clone(w.args[1:5])
	archive := w.in("out/archive/log")
	fill := slices.Concat([]string{"backfill", "--sink", "users", "--archive", archive}, base)
	w.args = append(w.args, "--sink", "rows,log")
	w.interrupt()
	w.expectUsage("has the archive log, which the backfill", fill...)
	w.expectUsage("has the archive log, which the backfill", slices.Concat([]string{"replay", "--rebuild", archive}, base)...)
	w.completed("log, rows", 4000)
	if text, said := program.Run(t, cli.ExitOK, fill...); !strings.Contains(text, "\nusers: live\n") {
		t.Errorf("it says %s%s", text, said)
	}
}
