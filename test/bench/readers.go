package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// readers read streams of a fast server. The server and each reader are processes of their own.
type readers struct {
	dir      string // folder of the programs and files; "" before start
	server   *exec.Cmd
	stdin    io.Closer // standard input of server, which ends with it
	endpoint string
	short    bool
	tables   int // number of tables that were read, because each run reads a table of its own from its start

	application application
}

// start builds the programs and starts the server with the records of a shape. It does so only once.
func (r *readers) start(ctx context.Context, b *bench) (err error) {
	if r.endpoint != "" {
		return nil
	}
	r.short = b.short
	if r.dir, err = os.MkdirTemp("", "tablewake-bench-"); err != nil {
		return err
	}
	file := r.path("records.jsonl")
	if err := writeRecords(file, b.usual()); err != nil {
		return err
	}
	for _, build := range [][]string{
		{"build", "-o", r.dir + "/", "./consume/streams", "./consume/loop"},
		{"build", "-C", "../..", "-o", r.dir + "/", "./cmd/tablewake"},
	} {
		if out, err := exec.CommandContext(ctx, "go", build...).CombinedOutput(); err != nil {
			return fmt.Errorf("go %s: %w\n%s", strings.Join(build, " "), err, out)
		}
	}
	r.server = exec.Command(r.path("streams"), "-records", file)
	r.server.Stderr = os.Stderr
	if r.stdin, err = r.server.StdinPipe(); err != nil {
		return err
	}
	out, err := r.server.StdoutPipe()
	if err != nil {
		return err
	}
	if err := r.server.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	r.endpoint = strings.TrimSpace(line)
	return err
}

// close ends all processes, and removes the folder.
func (r *readers) close() {
	r.application.close()
	if r.endpoint != "" {
		_ = r.stdin.Close()
		_ = r.server.Wait()
	}
	_ = os.RemoveAll(r.dir) // for "" it removes nothing
}

func (r *readers) path(name string) string { return filepath.Join(r.dir, name) }

// writeRecords writes enough records for all different pages of the server.
func writeRecords(file string, s *shape) error {
	const bytes = 32 << 20
	var b strings.Builder
	for i := 0; b.Len() < bytes && (s.n == 0 || i < s.n); i++ {
		s.at(i).appendStreams(&b, i)
		b.WriteByte('\n')
	}
	return os.WriteFile(file, []byte(b.String()), 0o600)
}

// table returns the name of a table that was not read before.
func (r *readers) table() string {
	r.tables++
	return fmt.Sprintf("table-%d", r.tables)
}

// pages returns the number of pages of each shard in a round.
func (r *readers) pages(n int) int {
	if r.short {
		return n / 4
	}
	return n
}

// grant lets a reader read n more pages of each shard of a table. It returns how many records they have.
func (r *readers) grant(table string, n int) (int, error) {
	resp, err := http.PostForm(r.endpoint+"/grant", url.Values{"table": {table}, "pages": {strconv.Itoa(n)}})
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK {
		err = errors.Join(err, errors.New(string(b)))
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(b)))
}
