package consume

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/clitest"
	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// ends runs a command line, whose exit code must be code, and returns all that it printed.
func ends(t *testing.T, code int, args ...string) string {
	t.Helper()
	out, errs := program.Run(t, code, args...)
	return out + errs
}

func wants(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in\n%s", part, text)
		}
	}
}

// A shard stops if the stream dropped records before they were read. The shard stays stopped until a person resets it,
// and status shows that.
func TestConsume_GapStops(t *testing.T) {
	api, file := clitest.OnStream(t)
	table := api.Table("shop")
	dir := filepath.Join(t.TempDir(), "out")
	consume := []string{"consume", "-c", file, "--local", dir, "--health", "off", "--exit-when-idle", "200ms"}
	status := []string{"status", "-c", file, "--local", dir}

	shard := clitest.Put(t, table, 1, "paid").Shard
	wants(t, ends(t, cli.ExitOK, consume...), "shop: 1 record")
	last := clitest.Put(t, table, 2, "lost")
	clitest.Put(t, table, 3, "paid")
	table.Stream().Trim(shard, 2)

	wants(t, ends(t, cli.ExitUnhealthy, consume...), "shop: 0 records", "level=ERROR", "records were lost", shard+" is read no further (records were lost before they were read")
	wants(t, ends(t, cli.ExitUnhealthy, consume...), "is read no further") // the next run still stops there
	text := ends(t, cli.ExitUnhealthy, status...)
	wants(t, text, "records that were lost before they were read:\n  shard "+shard+": behind ")
	wants(t, text, "PROBLEM shard "+shard+" is read no further: records were lost", "leases reset -c "+file+" --local "+dir+" "+shard+" --to trim_horizon")
	if strings.Contains(text, "start `tablewake consume") {
		t.Errorf("a consumer is to be started, which would not read the shard either:\n%s", text)
	}
	if strings.Contains(text, last.Sequence) {
		t.Errorf("the gap ends at a record that was lost:\n%s", text)
	}

	wants(t, ends(t, cli.ExitOK, "leases", "reset", "-c", file, "--local", dir, shard, "--to", "trim_horizon"), "checkpoint TRIM_HORIZON")
	wants(t, ends(t, cli.ExitOK, consume...), "shop: 1 record")
	rows := ends(t, cli.ExitOK, "query", "view", "orders", "--local", dir)
	wants(t, rows, "ORDER%231", "ORDER%233")
	if strings.Contains(rows, "ORDER%232") {
		t.Errorf("a record that was lost is there:\n%s", rows)
	}
}

// A gap that leaves its shard empty is reported too, and the consumer does not wait for a record that may never come.
func TestConsume_GapThatEmptiesItsShard(t *testing.T) {
	api, file := clitest.OnStream(t)
	table := api.Table("shop")
	dir := filepath.Join(t.TempDir(), "out")
	consume := []string{"consume", "-c", file, "--local", dir, "--health", "off", "--exit-when-idle", "200ms"}

	last := clitest.Put(t, table, 1, "paid")
	wants(t, ends(t, cli.ExitOK, consume...), "shop: 1 record")
	clitest.Put(t, table, 2, "lost")
	table.Stream().Trim(last.Shard, 2)

	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	passing := filepath.Join(t.TempDir(), "shop.yaml")
	if err := os.WriteFile(passing, bytes.Replace(text, []byte("table: shop,"), []byte("table: shop, on_gap: continue,"), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	wants(t, ends(t, cli.ExitOK, "consume", "-c", passing, "--local", dir, "--health", "off", "--exit-when-idle", "200ms"), "shop: 0 records", "level=ERROR", "records were lost: the stream dropped them")
	if again := ends(t, cli.ExitOK, "consume", "-c", passing, "--local", dir, "--health", "off", "--exit-when-idle", "200ms"); strings.Contains(again, "records were lost") {
		t.Errorf("a gap is told twice:\n%s", again)
	}

	wants(t, ends(t, cli.ExitUnhealthy, consume...), "shop: 0 records", "level=ERROR", "records were lost: the stream dropped them", last.Shard+" is read no further (records were lost before they were read")
	wants(t, ends(t, cli.ExitUnhealthy, "status", "-c", file, "--local", dir), "records that were lost before they were read:\n  shard "+last.Shard+": behind "+last.Sequence, " to its oldest record")

	next := clitest.Put(t, table, 3, "paid")
	wants(t, ends(t, cli.ExitUnhealthy, consume...), "shop: 0 records", "is read no further")
	wants(t, ends(t, cli.ExitUnhealthy, "status", "-c", file, "--local", dir), " to "+next.Sequence)
	wants(t, ends(t, cli.ExitOK, "leases", "reset", "-c", file, "--local", dir, last.Shard, "--to", "trim_horizon"), "checkpoint TRIM_HORIZON")
	wants(t, ends(t, cli.ExitOK, consume...), "shop: 1 record")
	wants(t, ends(t, cli.ExitOK, "query", "view", "orders", "--local", dir), "ORDER%231", "ORDER%233")
}

// If a run ends before a gap is repaired, the run still reads the records after the gap, and names the command that
// repairs the gap. Until the repair, status shows the problem.
func TestConsume_GapIsLeftToTheNext(t *testing.T) {
	api, file := clitest.OnStream(t)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.Replace(text, []byte("table: shop,"), []byte("table: shop, on_gap: repair,"), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	table := api.Table("shop")
	dir := filepath.Join(t.TempDir(), "out")
	consume := []string{"consume", "-c", file, "--local", dir, "--health", "off", "--exit-when-idle", "200ms"}
	shard := clitest.Put(t, table, 1, "paid").Shard
	said := ends(t, cli.ExitOK, consume...)
	wants(t, said, "shop: 1 record", "gaps are passed over, and then the sinks are repaired")
	if strings.Contains(said, "not repaired") {
		t.Errorf("there is no gap, and it says\n%s", said)
	}
	clitest.Put(t, table, 2, "lost")
	clitest.Put(t, table, 3, "paid")
	table.Stream().Trim(shard, 2)

	wants(t, ends(t, cli.ExitOK, consume...), "shop: 1 record", "records were lost", "1 gap not repaired yet: the next consumer continues with that, or `tablewake gaps -c "+file+" --local "+dir+" --repair --audit`")
	wants(t, ends(t, cli.ExitUnhealthy, "status", "-c", file, "--local", dir), "PROBLEM records of shard "+shard+" were lost; the sinks are not repaired yet", "--repair --audit")
	wants(t, ends(t, cli.ExitOK, "query", "view", "orders", "--local", dir), "ORDER%231", "ORDER%233")
}

// leases reset makes the lease of a shard that no consumer dared to begin, but only if the stream lists the shard.
func TestLeases_ResetMakesALease(t *testing.T) {
	api, file := clitest.OnStream(t)
	dir := filepath.Join(t.TempDir(), "out")
	at := []string{"-c", file, "--local", dir}
	parent := clitest.Put(t, api.Table("shop"), 1, "paid").Shard
	ends(t, cli.ExitOK, append([]string{"consume", "--health", "off", "--exit-when-idle", "200ms"}, at...)...)
	shard := api.Table("shop").Stream().Rollover(parent)

	reset := append([]string{"leases", "reset", shard}, at...)
	wants(t, ends(t, cli.ExitFailure, append(reset, "--to", "end")...), shard, "--skip says that this is meant")
	wants(t, ends(t, cli.ExitOK, append(reset, "--to", "trim_horizon", "--dry-run")...), "before: no lease", "after:  free, counter 1, checkpoint TRIM_HORIZON")
	if list := ends(t, cli.ExitOK, append([]string{"leases", "list"}, at...)...); strings.Contains(list, shard) {
		t.Errorf("a dry run made a lease:\n%s", list)
	}
	wants(t, ends(t, cli.ExitOK, append(reset, "--to", "trim_horizon")...), shard+":\n  before: no lease")
	wants(t, ends(t, cli.ExitOK, append([]string{"leases", "list"}, at...)...), shard+"  -      1        TRIM_HORIZON")
	wants(t, ends(t, cli.ExitFailure, append([]string{"leases", "reset", "shardId-9", "--to", "trim_horizon"}, at...)...), "shard shardId-9 has no lease, and no stream lists it")
}

// A consumer can read several tables. Each table has its own leases and its own items.
func TestConsume_Tables(t *testing.T) {
	api, file := clitest.OnStream(t)
	api.AddStream("stock")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.Replace(text, []byte("table: shop,"), []byte("tables: [shop, stock],"), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "out")
	clitest.Put(t, api.Table("shop"), 1, "paid")
	clitest.Put(t, api.Table("stock"), 1, "paid")
	said := ends(t, cli.ExitOK, "consume", "-c", file, "--local", dir, "--health", "off", "--exit-when-idle", "200ms")
	wants(t, said, "shop: 2 records", "table/shop/stream/", "table/stock/stream/")
	wants(t, ends(t, cli.ExitOK, "query", "view", "orders", "--local", dir), "STATUS#paid  shop!ORDER%231,META", "STATUS#paid  stock!ORDER%231,META")
	leases := ends(t, cli.ExitOK, "leases", "list", "-c", file, "--local", dir, "-o", "json")
	if n := strings.Count(leases, `"owner":""`); n != 2 {
		t.Errorf("%d leases that are free, want 2: %s", n, leases)
	}
}

// A consumer prints nothing of an item, even at the most verbose settings.
func TestConsume_ShowsNoValues(t *testing.T) {
	api, file := clitest.OnStream(t)
	const secret = "tweety"
	table := api.Table("shop")
	if _, err := table.Put(`{"PK":{"S":"` + secret + `"},"SK":{"S":"` + secret + `"},"Status":{"S":"` + secret + `"}}`); err != nil {
		t.Fatal(err)
	}
	st := table.Stream()
	st.Put(st.Shards()[0], streamtest.Record{Raw: `{"eventName":"INSERT","dynamodb":{"Keys":{"PK":{"S":"` + secret + `"}},"NewImage":{"N":{"N":"` + secret + `"}}}}`})
	dir := filepath.Join(t.TempDir(), "out")
	said := ends(t, cli.ExitOK, "consume", "-c", file, "--local", dir, "--health", "off", "--exit-when-idle", "200ms", "--verbose")
	said += ends(t, cli.ExitUnhealthy, "status", "-c", file, "--local", dir, "-o", "json")
	wants(t, said, "read 2 = undecodable 1 + routed 1")
	if strings.Contains(said, secret) {
		t.Errorf("a value is shown:\n%s", said)
	}
}

// If a table has a newer stream, a run exits with 0 only after it has read that stream. With on_gap: stop, the run
// reports that it does not read that stream.
func TestConsume_EndsBehindTheNewestStream(t *testing.T) {
	t.Parallel()
	for policy, code := range map[string]int{"stop": cli.ExitUnhealthy, "continue": cli.ExitOK} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			api, file, env := clitest.NewStream(t)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, bytes.Replace(text, []byte("table: shop,"), []byte("table: shop, on_gap: "+policy+","), 1), 0o644); err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(t.TempDir(), "out")
			consume := []string{"consume", "-c", file, "--local", dir, "--health", "off", "--exit-when-idle", "50ms"}
			table := api.Table("shop")
			clitest.Put(t, table, 1, "paid")
			clitest.Apart(t, env, cli.ExitOK, consume...)
			table.Stream().Disable()
			api.AddStream("shop")
			clitest.Put(t, api.Table("shop"), 2, "paid")
			said := clitest.Apart(t, env, code, consume...)
			switch rows := clitest.Apart(t, env, cli.ExitOK, "query", "view", "orders", "--local", dir); {
			case code == cli.ExitOK && !strings.Contains(rows, "ORDER%232"):
				t.Errorf("it ended with 0, and a record is not there:\n%s%s", said, rows)
			case code != cli.ExitOK:
				wants(t, said, "is read no further (its stream follows one that was read")
			}
		})
	}
}

// If a stream was switched off and on several times, no consumer begins the streams after the first. status names one
// shard after the other, and a person resets each in turn.
func TestConsume_StreamsBetween(t *testing.T) {
	t.Parallel()
	api, file, env := clitest.NewStream(t)
	dir := filepath.Join(t.TempDir(), "out")
	at := []string{"-c", file, "--local", dir}
	consume := append([]string{"consume", "--health", "off", "--exit-when-idle", "50ms"}, at...)
	clitest.Put(t, api.Table("shop"), 1, "paid")
	clitest.Apart(t, env, cli.ExitOK, consume...)
	for n := 2; n <= 4; n++ {
		api.Table("shop").Stream().Disable()
		api.AddStream("shop")
		clitest.Put(t, api.Table("shop"), n, "paid")
	}
	for range 3 {
		stopped := regexp.MustCompile(`shard (shardId-\S+) is read no further \(its stream follows`).FindStringSubmatch(clitest.Apart(t, env, cli.ExitUnhealthy, consume...))
		if stopped == nil {
			t.Fatal("it names no shard")
		}
		said := clitest.Apart(t, env, cli.ExitUnhealthy, append([]string{"status"}, at...)...)
		wants(t, said, "leases reset -c "+file+" --local "+dir+" "+stopped[1]+" --to trim_horizon")
		if strings.Contains(said, "is read by nobody") || strings.Contains(said, "no consumer reads") {
			t.Errorf("a shard that waits for an older stream is no problem: %s", said)
		}
		clitest.Apart(t, env, cli.ExitOK, append([]string{"leases", "reset", stopped[1], "--to", "trim_horizon"}, at...)...)
	}
	clitest.Apart(t, env, cli.ExitOK, consume...)
	wants(t, clitest.Apart(t, env, cli.ExitOK, "query", "view", "orders", "--local", dir), "ORDER%231", "ORDER%232", "ORDER%233", "ORDER%234")
}

// A consumer waits for an unreadable part as long as --idle-timeout says. Then it names this part.
func TestConsume_IdleTimeout(t *testing.T) {
	api, file := clitest.OnStream(t)
	shard := clitest.Put(t, api.Table("shop"), 1, "paid").Shard
	api.FailWhen(func(c streamtest.Call) streamtest.Fault {
		if c.Op == "GetRecords" {
			return streamtest.Fault{Code: "InternalServerError"}
		}
		return streamtest.Fault{}
	})
	dir := filepath.Join(t.TempDir(), "out")
	consume := []string{"consume", "-c", file, "--local", dir, "--health", "off", "--exit-when-idle", "100ms", "--idle-timeout", "2s"}
	wants(t, ends(t, cli.ExitUnread, consume...), "nothing was done for 2s (--idle-timeout): shard "+shard+" may have more records", "tablewake status -c "+file+" --local "+dir)
	api.FailWhen(nil)
	wants(t, ends(t, cli.ExitOK, consume...), "shop: 1 record")
}
