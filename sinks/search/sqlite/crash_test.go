package sqlite_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/search"
)

// childDir is the environment variable with the folder that the child process writes to until it is killed.
const childDir = "TABLEWAKE_TEST_SQLITE_DIR"

const documents = 8

// child writes rounds of all documents at increasing versions. It prints each round after the round is durable.
func child(dir string) {
	store, err := openIn(context.Background(), dir)
	if err != nil {
		panic(err)
	}
	for round := 1; ; round++ {
		rs, err := store.Apply(context.Background(), mutations(round))
		if err != nil {
			panic(err)
		}
		for _, r := range rs {
			if r.Err != nil {
				panic(r.Err)
			}
		}
		fmt.Println(round)
	}
}

// mutations returns the mutations of a round. They write every document at the version of the round, and delete a third
// of them.
func mutations(round int) []search.Mutation {
	ms := make([]search.Mutation, documents)
	for i := range ms {
		ms[i] = mutation(fmt.Sprint("doc", i), round, fmt.Sprintf(`{"round":%d}`, round))
		if (i+round)%3 == 0 {
			ms[i].Tombstone, ms[i].Doc = true, []byte(`{}`)
		}
	}
	return ms
}

// mutation returns a mutation that writes doc at a version.
func mutation(id string, version int, doc string) search.Mutation {
	v, err := record.ParseVersion(fmt.Sprintf("%010d%040d", 1767323045, version))
	if err != nil {
		panic(err)
	}
	return search.Mutation{Index: "docs", ID: id, Version: v, Doc: []byte(doc)}
}

// After a process is killed during its writes, the store has every batch that was reported as durable, and no partial
// batch. A replay then ends with the newest round.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	durable := 0
	for lines := bufio.NewScanner(out); durable < 20 && lines.Scan(); {
		if _, err := fmt.Sscan(lines.Text(), &durable); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("the child ended: %v", err)
	}

	store := open(t, dir)
	docs := read(t, store, "docs")
	round := 0
	for _, doc := range docs {
		if _, err := fmt.Sscanf(doc, `{"round":%d}`, &round); err != nil {
			t.Fatal(err)
		}
		break
	}
	if round < durable {
		t.Errorf("round %d was durable, the store holds %d", durable, round)
	}
	want := func(round int) map[string]string {
		m := make(map[string]string)
		for _, mu := range mutations(round) {
			if !mu.Tombstone {
				m[mu.ID] = string(mu.Doc)
			}
		}
		return m
	}
	if w := want(round); fmt.Sprint(docs) != fmt.Sprint(w) {
		t.Errorf("after the kill the store holds %v, want the batch %v", docs, w)
	}
	for again := max(1, round-3); again <= round+1; again++ {
		apply(t, store, mutations(again)...)
	}
	if docs, w := read(t, store, "docs"), want(round+1); fmt.Sprint(docs) != fmt.Sprint(w) {
		t.Errorf("after the replay the store holds %v, want %v", docs, w)
	}
}
