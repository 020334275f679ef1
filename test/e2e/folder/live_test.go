package folder

import (
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/tablewake/tablewake/test/server"
)

// real is a pipeline with a view in a real table and with dead letters in a folder.
const real = `version: 1
name: %[1]s
source: {table: shop, polling: {max_idle: 50ms}}
leases: {%[2]s}
state: {table: %[1]s-state}
dead_letters: {dir: '${FOLDER}/dead'}
sinks:
  orders: {view: {table: %[1]s-rows, key: {PK: 'STATUS#{Status}', SK: '{@key}'}}}
`

// live has the tables of one test.
type live struct {
	name   string
	client *dynamodb.Client
	env    []string
}

func newLive(t *testing.T, streams string, tables ...string) *live {
	t.Helper()
	endpoint := server.DynamoDB().Endpoint(t)
	l := &live{name: "folder-" + strings.ToLower(rand.Text()[:8]), env: append(signed(streams), "AWS_ENDPOINT_URL_DYNAMODB="+endpoint)}
	l.client = dynamodb.New(dynamodb.Options{
		Region: server.Region, BaseEndpoint: &endpoint, Credentials: credentials.NewStaticCredentialsProvider(server.AccessKey, server.SecretKey, ""),
	})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for _, table := range tables {
			if _, err := l.client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: aws.String(l.name + "-" + table)}); err != nil {
				t.Error(err)
			}
		}
	})
	return l
}

// rows returns the keys of the items that have a row.
func (l *live) rows(t *testing.T) []string {
	t.Helper()
	var keys []string
	pages := dynamodb.NewScanPaginator(l.client, &dynamodb.ScanInput{TableName: aws.String(l.name + "-rows"), ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			if sk, is := item["SK"].(*types.AttributeValueMemberS); is {
				keys = append(keys, sk.Value)
			}
		}
	}
	slices.Sort(keys)
	return keys
}

// Every pair of commands runs at the same time on one folder of dead letters and leases, with real tables. No letter is
// lost, and no letter stays that was delivered or discarded.
func TestPairs_Live(t *testing.T) {
	streams, shard, _ := streamOf(t, 100, 120)
	l := newLive(t, streams, "state", "rows")
	base := t.TempDir()
	t.Setenv("FOLDER", base)
	cfg, file := parse(t, fmt.Sprintf(real, l.name, "file: '${FOLDER}/leases.json'"))
	records := t.TempDir()
	first, second := filepath.Join(records, "first.jsonl"), filepath.Join(records, "second.jsonl")
	lines(t, first, 1, 3)
	lines(t, second, 200, 220)
	run(t, append(l.env, "FOLDER="+base), []int{0}, "replay", "-c", file, "--live", "--create", first)
	deliverable := []int{301, 302, 304}
	putLetters(t, cfg, filepath.Join(base, "dead"), deliverable...)

	with := func(name string, more ...string) []string {
		return slices.Concat(strings.Fields(name), []string{"-c", file, "--live"}, more)
	}
	commands := func(string) []command {
		return []command{
			{name: "consume", args: with("consume", "--health", "off", "--exit-when-idle", "100ms"), codes: []int{0}, adds: [2]int{100, 120}},
			{name: "replay", args: with("replay", second), codes: []int{4}, adds: [2]int{200, 220}},
			{name: "redrive", args: with("redrive"), codes: []int{0, 4}, takes: deliverable},
			{name: "redrive --discard", args: with("redrive", "--discard", "--key", "I301"), codes: []int{0}, takes: deliverable[:1]},
			{name: "redrive --list", args: with("redrive", "--list"), codes: []int{0}},
			{name: "status", args: with("status", "--no-watch"), codes: []int{0, 6}},
			{name: "leases list", args: with("leases list"), codes: []int{0}},
			{name: "leases reset", args: with("leases reset", shard, "--to", "trim_horizon"), codes: []int{0}},
			{name: "purge", args: []string{"purge", "-c", file}, codes: []int{0}},
			{name: "why", args: with("why", "--key", "I1", first), codes: []int{0, 1}},
		}
	}
	t.Run("pairs", func(t *testing.T) {
		pairs(t, base, commands, func(t *testing.T, folder string, a, b command) {
			together(t, append(slices.Clone(l.env), "FOLDER="+folder), a, b)
			if diff := cmp.Diff(expected([2]int{1, 3}, deliverable, a, b).Letters, letters(t, filepath.Join(folder, "dead")), sortedLists); diff != "" {
				t.Errorf("the letters that they leave (-want +got):\n%s", diff)
			}
		})
	})
	want := sorted(items(1, 3, good), items(100, 120, good), items(200, 220, good), items(300, 305, good))
	if diff := cmp.Diff(want, l.rows(t)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// sortedLists makes a comparison ignore the order of lists.
var sortedLists = cmp.Transformer("sorted", func(l []string) []string { return slices.Sorted(slices.Values(l)) })

// Two consumers and another process put letters into a folder, while two redrives at a time deliver letters and delete
// the files that become empty. Each letter is delivered, or stays in the folder until it is discarded.
func TestConsumersBesideRedrives(t *testing.T) {
	streams, _, put := streamOf(t, 1, 3)
	l := newLive(t, streams, "leases", "state", "rows")
	folder := t.TempDir()
	t.Setenv("FOLDER", folder)
	dead := filepath.Join(folder, "dead")
	cfg, file := parse(t, fmt.Sprintf(real, l.name, fmt.Sprintf("table: %s-leases", l.name)))
	env := slices.Concat(l.env, []string{"FOLDER=" + folder})
	redrive := func(more ...string) *process {
		return start(t, env, append([]string{"redrive", "-c", file, "--live"}, more...)...)
	}
	both := func(do func(), more ...string) {
		t.Helper()
		redrives := []*process{redrive(more...), redrive(more...)}
		do()
		for _, r := range redrives {
			if code, out := r.ends(t); code != 0 && code != 4 {
				t.Fatalf("%s: exit code %d\n%s", strings.Join(r.args, " "), code, out)
			}
		}
	}
	var consumers []*process
	for range 2 {
		c := start(t, env, "consume", "-c", file, "--live", "--create", "--health", "off")
		consumers = append(consumers, c)
		until(t, "a consumer reads", func() bool { return strings.Contains(c.out.String(), "consumer ") })
	}
	want := items(1, 3, good)
	for round := range 3 {
		from, to := 1000*(round+1), 1000*(round+1)+20
		both(func() { // letters that can be delivered come while others are delivered
			for n := from; n < to; n++ {
				putLetters(t, cfg, dead, 100_000+n)
				put(300_000 + 3*n + 1) // a good item
				want = append(want, fmt.Sprintf("I%d", 100_000+n), fmt.Sprintf("I%d", 300_000+3*n+1))
			}
		})
		both(func() {})
		if left := letters(t, dead); len(left) > 0 {
			t.Fatalf("round %d: the letters %v are not delivered", round, left)
		}
		var refused []string
		both(func() { // the consumers' own letters come into a folder whose files are being deleted
			for n := from; n < to; n++ {
				put(600_000 + 3*n)
				refused = append(refused, fmt.Sprintf("I%d", 600_000+3*n))
			}
		})
		until(t, "the consumers' letters are there", func() bool { return len(letters(t, dead)) >= len(refused) })
		if diff := cmp.Diff(refused, letters(t, dead), sortedLists); diff != "" {
			t.Fatalf("round %d: letters (-want +got):\n%s", round, diff)
		}
		both(func() {}, "--discard", "--class", "plan")
		if left := letters(t, dead); len(left) > 0 {
			t.Fatalf("round %d: the letters %v are not discarded", round, left)
		}
	}
	for _, c := range consumers {
		if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if code, out := c.ends(t); code != 0 {
			t.Errorf("consume: exit code %d\n%s", code, out)
		}
	}
	if diff := cmp.Diff(want, l.rows(t), sortedLists); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// until waits until a condition is true.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited a minute in vain: %s", what)
		}
	}
}
