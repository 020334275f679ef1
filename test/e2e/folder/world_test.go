package folder

import (
	"bytes"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/streamtest"
	"github.com/tablewake/tablewake/sinks"
	deaddir "github.com/tablewake/tablewake/sinks/deadletter/dir"
	"github.com/tablewake/tablewake/test/server"
)

// streamARN is the ARN of the stream of records in files.
const streamARN = "arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-02T03:04:05.678"

// recordOf returns the record of a new item. The view permanently refuses a bad item, because its status is not text.
func recordOf(n int, bad bool) streamtest.Record {
	keys := fmt.Sprintf(`{"PK":{"S":"I%d"}`, n)
	status := `{"S":"paid"}`
	if bad {
		status = `{"M":{}}`
	}
	return streamtest.Record{Keys: keys + "}", New: keys + `,"Status":` + status + "}"}
}

// line returns a record as it is in a file.
func line(n int, bad bool) string {
	r := recordOf(n, bad)
	return fmt.Sprintf(`{"eventID":"%d","eventName":"INSERT","eventSourceARN":%q,"dynamodb":{"Keys":%s,"NewImage":%s,"SequenceNumber":"1%020d","SizeBytes":40,"StreamViewType":"NEW_AND_OLD_IMAGES"}}`,
		n, streamARN, r.Keys, r.New, n)
}

// lines writes a file with the records of items. Every third item is bad.
func lines(t *testing.T, path string, from, to int) {
	t.Helper()
	var b strings.Builder
	for n := from; n < to; n++ {
		b.WriteString(line(n, n%3 == 0) + "\n")
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// items returns the keys of the items in a range for which a function is true.
func items(from, to int, which func(n int) bool) []string {
	var keys []string
	for n := from; n < to; n++ {
		if which(n) {
			keys = append(keys, fmt.Sprintf("I%d", n))
		}
	}
	slices.Sort(keys)
	return keys
}

func all(int) bool    { return true }
func bad(n int) bool  { return n%3 == 0 }
func good(n int) bool { return n%3 != 0 }

// sorted merges lists into one sorted list without duplicates.
func sorted(lists ...[]string) []string {
	one := slices.Concat(lists...)
	slices.Sort(one)
	return slices.Compact(one)
}

// streamOf serves a stream with the records of items in one shard. put adds a record.
func streamOf(t *testing.T, from, to int) (endpoint, shard string, put func(n int)) {
	t.Helper()
	api := streamtest.New(streamtest.Options{})
	s := api.AddStream("shop")
	shard = s.Shards()[0]
	put = func(n int) { s.Put(shard, recordOf(n, bad(n))) }
	for n := from; n < to; n++ {
		put(n)
	}
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	return server.URL, shard, put
}

// putLetters puts letters of good items into a folder, as if the view had refused them once.
func putLetters(t *testing.T, cfg *config.Config, folder string, ns ...int) {
	t.Helper()
	store, err := deaddir.New(deaddir.Options{Dir: folder})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range ns {
		raw := []byte(line(n, false))
		page, err := record.NewDecoder(sinks.Decoder(cfg)).Decode(slices.Clone(raw))
		if err != nil || len(page.Changes) != 1 {
			t.Fatal(err, page.Errors)
		}
		c := page.Changes[0]
		err = store.Put(t.Context(), []pipeline.DeadLetter{{
			Pipeline: cfg.Name, Sink: "orders", Key: c.Key, Version: c.Version, Sequence: c.Sequence, StreamARN: streamARN, Table: "shop",
			Class: "write", Error: "refused once", Raw: raw, Time: time.Unix(1767323045, 0),
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}

// letters returns the keys of the letters in a folder.
func letters(t *testing.T, folder string) []string {
	t.Helper()
	store, err := deaddir.New(deaddir.Options{Dir: folder})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	var keys []string
	for l, err := range store.Read(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, string(l.Key))
	}
	slices.Sort(keys)
	return keys
}

// process is a running command.
type process struct {
	args []string
	cmd  *exec.Cmd
	out  buffer // standard output and standard error
	done chan struct{}
}

// buffer collects the output of a process and can be read at the same time.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// start starts a command. The command ends with the test.
func start(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	p := &process{args: args, cmd: exec.Command(tablewake, args...), done: make(chan struct{})}
	p.cmd.Env = slices.Concat(os.Environ(), env)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // the tests check the exit code
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
	})
	return p
}

// ends waits until the command has ended, and returns its exit code and output.
func (p *process) ends(t *testing.T) (code int, out string) {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(2 * time.Minute):
		t.Fatalf("tablewake %s does not end", strings.Join(p.args, " "))
	}
	return p.cmd.ProcessState.ExitCode(), p.out.String()
}

// refused reports whether a command was refused with a hint, because another process has the folder.
func refused(out string) bool {
	return strings.Contains(out, "is in use by another process") &&
		(strings.Contains(out, "wait for it, or take another folder") || strings.Contains(out, "leases.table"))
}

// command is one command of a pair. codes are its allowed exit codes.
type command struct {
	name  string
	args  []string
	codes []int
	adds  [2]int // it writes the records of these items
	takes []int  // it removes the letters of these items
}

func (c command) may(code int) bool { return slices.Contains(c.codes, code) }

// together runs two commands at the same time. A command that is refused because of the other one runs again
// afterwards, and must succeed then.
func together(t *testing.T, env []string, a, b command) {
	t.Helper()
	running := []*process{start(t, env, a.args...), start(t, env, b.args...)}
	for i, c := range []command{a, b} {
		code, out := running[i].ends(t)
		if refused(out) {
			_, _ = running[1-i].ends(t)
			code, out = start(t, env, c.args...).ends(t)
		}
		if !c.may(code) {
			t.Errorf("%s beside %s: exit code %d, want one of %v\n%s", c.name, running[1-i].args[0], code, c.codes, out)
		}
	}
}

// pairs calls do with every pair of commands, also with each command twice. The commands work on a copy of the folder
// base.
func pairs(t *testing.T, base string, commands func(folder string) []command, do func(t *testing.T, folder string, a, b command)) {
	names := commands("")
	for i := range names {
		for j := i; j < len(names); j++ {
			t.Run(names[i].name+" and "+names[j].name, func(t *testing.T) {
				t.Parallel()
				folder := copyFolder(t, base)
				both := commands(folder)
				do(t, folder, both[i], both[j])
			})
		}
	}
}

// copyFolder copies a folder and returns the path of the copy.
func copyFolder(t *testing.T, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "out")
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

// signed returns the environment variables for signed calls, with the endpoint of the streams.
func signed(streams string) []string {
	return []string{
		"AWS_REGION=" + server.Region, "AWS_ACCESS_KEY_ID=" + server.AccessKey, "AWS_SECRET_ACCESS_KEY=" + server.SecretKey,
		"AWS_EC2_METADATA_DISABLED=true", "AWS_ENDPOINT_URL_DYNAMODB_STREAMS=" + streams, "AWS_ENDPOINT_URL_STS=" + streams,
	}
}

// run runs a command, which must end with one of the codes.
func run(t *testing.T, env []string, codes []int, args ...string) string {
	t.Helper()
	code, out := start(t, env, args...).ends(t)
	if !slices.Contains(codes, code) {
		t.Fatalf("tablewake %s: exit code %d, want one of %v\n%s", strings.Join(args, " "), code, codes, out)
	}
	return out
}

// parse parses a configuration, and writes it to a file for commands.
func parse(t *testing.T, text string) (cfg *config.Config, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "tablewake.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(file)
	if problems, is := errors.AsType[config.Problems](err); is {
		t.Fatal(problems)
	}
	if err != nil {
		t.Fatal(err)
	}
	return cfg, file
}
