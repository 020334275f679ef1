package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/customers/customers"
	"github.com/tablewake/tablewake/cmd/cli"
)

// tablewake runs a command line of the program, wants its exit code, and returns its output.
func tablewake(t *testing.T, code int, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	if got := cli.Run(t.Context(), args, strings.NewReader(""), &out, &out, customers.Extensions()...); got != code {
		t.Fatalf("%s: exit code %d, want %d\n%s", strings.Join(args, " "), got, code, &out)
	}
	return out.String()
}

func record(sequence int, id, total string) string {
	return fmt.Sprintf(`{"eventSourceARN":"arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-02T03:04:05.678","eventName":"INSERT",`+
		`"dynamodb":{"SequenceNumber":"%d","StreamViewType":"NEW_AND_OLD_IMAGES","Keys":{"PK":{"S":"%s"}},"NewImage":{"PK":{"S":"%[2]s"},"Type":{"S":"Order"},"Status":{"S":"paid"},"Total":{"N":"%s"}}}}`+"\n", sequence, id, total)
}

// The commands plan with the program's own sinks, and write to them only if --custom names them.
func TestCommands(t *testing.T) {
	t.Setenv("CRM_HOST", "crm.example")
	dir := t.TempDir()
	stream, out := filepath.Join(dir, "stream.jsonl"), filepath.Join(dir, "out")
	if err := os.WriteFile(stream, []byte(record(101, "O1", "12.5")+record(102, "O2", "2000")+record(103, "O3", "0")+record(104, "TEST1", "1")), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := tablewake(t, 0, "explain", "-c", "tablewake.yaml", stream); strings.Count(got, "event   large") != 1 || strings.Count(got, "customers: give the change to the Go sink crm") != 3 {
		t.Errorf("explain says\n%s", got)
	} else if !strings.Contains(got, "isReal: drops it, counted as isReal") {
		t.Errorf("explain does not show the filter:\n%s", got)
	}
	if got := tablewake(t, 0, "replay", "-c", "tablewake.yaml", "--local", out, stream); !strings.Contains(got, "held back: customers, on_Order") {
		t.Errorf("replay says\n%s", got)
	}
	// The order without a total becomes a dead letter of the Go sink.
	tablewake(t, 4, "replay", "-c", "tablewake.yaml", "--local", out, "--fresh", "--custom", "customers,on_Order", stream)
	if got := tablewake(t, 0, "query", "dead", "--local", out); !strings.Contains(got, errNoTotal) || strings.Count(got, "\n") != 1 {
		t.Errorf("the dead letters are\n%s", got)
	}
	if got := tablewake(t, 0, "query", "view", "--local", out); strings.Count(got, "STATUS#paid") != 3 {
		t.Errorf("the view has\n%s", got)
	}
}

// errNoTotal is the error of the customer system.
const errNoTotal = "the order has no total"

// backfill gives the items of the table to the Go sink that it names.
func TestBackfill(t *testing.T) {
	t.Setenv("CRM_HOST", "crm.example")
	dir := t.TempDir()
	items, out := filepath.Join(dir, "items.jsonl"), filepath.Join(dir, "out")
	lines := `{"PK":{"S":"O1"},"Type":{"S":"Order"},"Total":{"N":"12.5"}}` + "\n" +
		`{"PK":{"S":"O2"},"Type":{"S":"Order"},"Total":{"N":"0"}}` + "\n" +
		`{"PK":{"S":"TEST1"},"Type":{"S":"Order"},"Total":{"N":"0"}}` + "\n"
	if err := os.WriteFile(items, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	backfill := []string{"backfill", "-c", "tablewake.yaml", "--local", out, "--items", items, "--keys", "PK", "--sink"}
	if got := tablewake(t, 4, append(backfill, "customers")...); !strings.Contains(got, "customers: live") {
		t.Errorf("backfill says\n%s", got)
	}
	if got := tablewake(t, 0, "query", "dead", "--local", out); !strings.Contains(got, errNoTotal) || strings.Count(got, "\n") != 1 {
		t.Errorf("the dead letters are\n%s", got)
	}
	tablewake(t, 0, append(backfill, "on_Order")...)
}
