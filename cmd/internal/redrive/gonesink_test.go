package redrive_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/clitest"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/test/server"
)

// redrive moves the letters of a sink that was renamed to the sink of the new name, or discards them. Before that it
// says how many letters there are.
func TestRedrive_SinkThatIsGone(t *testing.T) {
	dir := t.TempDir()
	file, flawed, stream := filepath.Join(dir, "shop.yaml"), filepath.Join(dir, "flawed.yaml"), filepath.Join(dir, "stream.jsonl")
	renamed := strings.Replace(strings.Replace(fixed, "  orders: {view: {table: rows", "  by_status: {view: {backfill: none, table: others", 1), ", when: 'item.N == 1', key: {PK: 'S#{Status}', SK: '{@key}'}", ", key: {PK: 'S#{Status}', SK: '{@key}'}", 1)
	for name, text := range map[string]string{
		file: renamed, flawed: strings.Replace(fixed, "when: 'item.N == 1'", "when: 'item.Status > 1'", 1),
		stream: clitest.Order("a", "1") + clitest.Order("b", "2"),
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		flags        []string
		said, report string
		rows         int
	}{
		{[]string{"--to", "by_status"}, "2 letters of the sink orders, which " + file + " no longer has, are to be moved to by_status", "2 moved from orders to by_status", 2},
		{[]string{"--discard"}, "2 letters of the sink orders, which " + file + " no longer has, are to be discarded", "discarded", 0},
	} {
		out := filepath.Join(t.TempDir(), "out")
		program.Run(t, cli.ExitDeadLetters, "replay", "-c", flawed, "--local", out, stream)
		if text, _ := program.Run(t, cli.ExitDeadLetters, "redrive", "-c", file, "--local", out); !strings.Contains(text, "--sink NAME --to SINK") || !strings.Contains(text, "--sink NAME --discard") {
			t.Errorf("of letters of a sink that is gone redrive says %s", text)
		}
		if _, said := program.Run(t, cli.ExitUsage, "redrive", "-c", file, "--local", out, "--sink", "orders"); !strings.Contains(said, "--to SINK moves its letters") {
			t.Errorf("without --to redrive says %s", said)
		}
		program.Run(t, cli.ExitUsage, "redrive", "-c", file, "--local", out, "--to", "by_status")
		program.Run(t, cli.ExitUsage, "redrive", "-c", file, "--local", out, "--sink", "orders", "--to", "nothing")
		program.Run(t, cli.ExitUsage, "redrive", "-c", file, "--local", out, "--sink", "by_status", "--to", "by_status")
		text, said := program.Run(t, cli.ExitOK, append([]string{"redrive", "-c", file, "--local", out, "--sink", "orders"}, test.flags...)...)
		if !strings.Contains(said, test.said) || !strings.Contains(text, test.report) {
			t.Errorf("%s says %s%s", test.flags, said, text)
		}
		if text, _ := program.Run(t, cli.ExitOK, "query", "view", "others", "--local", out); strings.Count(text, "S#paid") != test.rows {
			t.Errorf("after %s there are %s", test.flags, text)
		}
		if text, _ := program.Run(t, cli.ExitOK, "query", "dead", "--local", out); text != "" {
			t.Errorf("after %s there stay %s", test.flags, text)
		}
	}
}

// On real servers, query dead shows the letters of a bucket and of a queue. Sinks that hold nothing take fixed
// settings, and the letters of a removed sink can be moved.
func TestRedrive_Live(t *testing.T) {
	for _, kind := range []string{"bucket", "queue"} {
		t.Run(kind, func(t *testing.T) {
			file, name, tables := clitest.OnServers(t)
			configured, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text := string(configured)
			if kind == "queue" {
				endpoint := server.SQS().Endpoint(t)
				t.Setenv("AWS_ENDPOINT_URL_SQS", endpoint)
				sdk, err := target.LoadAWS(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if _, err := awssqs.NewFromConfig(sdk).CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: &name, Attributes: map[string]string{"MessageRetentionPeriod": "1209600"}}); err != nil {
					t.Fatal(err)
				}
				text = strings.Replace(text, "{bucket: "+name+", prefix: dead/}", "{queue: "+name+"}", 1)
			}
			write := func(text string) {
				t.Helper()
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			stream := filepath.Join(t.TempDir(), "stream.jsonl")
			if err := os.WriteFile(stream, []byte(clitest.Order("a", "1")+clitest.Order("b", "2")), 0o644); err != nil {
				t.Fatal(err)
			}
			flawed := strings.NewReplacer("view: {table", "view: {when: 'item.Status > 1', table", `item.Status == "paid"`, "item.Status > 1", "search: {", "search: {when: 'item.Status > 1', ").Replace(text)
			write(flawed)
			program.Run(t, cli.ExitDeadLetters, "replay", "-c", file, "--live", "--create", stream)
			hold(t, file, "orders", "a")
			write(text)

			list, _ := program.Run(t, cli.ExitOK, "query", "dead", "-c", file, "--live")
			if strings.Count(list, "\n") != 6 || strings.Count(list, "orders  a  ") != 1 || strings.Count(list, "docs  b  ") != 1 {
				t.Errorf("query dead --live says\n%s", list)
			}
			if list, _ := program.Run(t, cli.ExitOK, "query", "dead", "-c", file, "--live", "-n", "2", "-o", "json"); strings.Count(list, `"record":{`) != 2 {
				t.Errorf("query dead --live -n 2 -o json says\n%s", list)
			}
			if list, _ := program.Run(t, cli.ExitOK, "query", "dead", "-c", file, "--live", "--quarantined"); !strings.HasPrefix(list, "orders  a  1 letter since") {
				t.Errorf("query dead --live --quarantined says\n%s", list)
			}
			program.Run(t, cli.ExitUsage, "query", "dead", "-c", file, "--live", "--local", "out")
			program.Run(t, cli.ExitUsage, "query", "dead", "-c", file, "--local", "out")

			write(strings.Replace(text, "  orders: {view: {", "  by_status: {view: {backfill: none, ", 1))
			report, said := program.Run(t, cli.ExitDeadLetters, "redrive", "-c", file, "--live")
			for _, sink := range []string{"docs", "paid"} {
				if strings.Count(said, "the sink holds nothing") != 2 || !strings.Contains(said, "sink="+sink) {
					t.Errorf("redrive says\n%s%s", said, report)
				}
			}
			report, _ = program.Run(t, cli.ExitOK, "redrive", "-c", file, "--live", "--sink", "orders", "--to", "by_status")
			if !strings.Contains(report, "2 moved from orders to by_status") {
				t.Errorf("redrive --to says\n%s", report)
			}
			if counted := clitest.Paid(t, tables, name); !strings.Contains(counted, "2") {
				t.Errorf("the group counts %s", counted)
			}
			if list, _ := program.Run(t, cli.ExitOK, "query", "dead", "-c", file, "--live"); list != "" {
				t.Errorf("there stay\n%s", list)
			}
		})
	}
}

// hold quarantines a key in a sink.
func hold(t *testing.T, file, sink string, key item.Key) {
	t.Helper()
	cfg, err := config.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	sdk, err := target.LoadAWS(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	opened := target.LiveStores(sdk)
	defer func() {
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	}()
	kept, err := opened.State(t.Context(), cfg)
	if err == nil {
		err = kept.MarkKeys(t.Context(), sink, []item.Key{key})
	}
	if err != nil {
		t.Fatal(err)
	}
}
