package dir_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/sinks/deadletter/dir"
)

// childFolder and childFirst are environment variables for a child process of the test. The child process puts dead
// letters into the folder, beginning with the number childFirst, and prints each acknowledged number.
const (
	childFolder = "TABLEWAKE_TEST_LETTERS"
	childFirst  = "TABLEWAKE_TEST_FIRST"
)

// runChild puts and removes dead letters until the process is killed.
func runChild(folder string) {
	first, err := strconv.Atoi(os.Getenv(childFirst))
	if err != nil {
		panic(err)
	}
	o := dir.Options{Dir: folder, FileBytes: 4000}
	s, err := dir.New(o)
	for n := first; err == nil; n++ {
		if err = s.Put(context.Background(), letters(n, n+500_000)); err != nil {
			break
		}
		fmt.Println("put", n)
		if n%3 == 0 {
			if err = s.Remove(context.Background(), ids(n)); err != nil {
				break
			}
			fmt.Println("removed", n)
		}
		if n%20 == 0 { // close and open the folder, which deletes empty files
			if err = s.Close(); err == nil {
				s, err = dir.New(o)
			}
		}
	}
	fmt.Println("failed", err)
}

// Several processes put and remove dead letters in one folder at the same time. Each process is killed at any point and
// replaced by another one. No acknowledged dead letter is lost, and no removed dead letter comes back.
func TestSeveralProcessesAreKilled(t *testing.T) {
	path := t.TempDir()
	const processes, rounds = 3, 4
	var readers []io.Reader
	for round := range rounds {
		var children []*exec.Cmd
		for p := range processes {
			child := exec.Command(os.Args[0])
			child.Env = append(os.Environ(), childFolder+"="+path, fmt.Sprintf("%s=%d", childFirst, (round*processes+p)*10_000))
			out, err := os.CreateTemp(t.TempDir(), "")
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			readers = append(readers, io.NewSectionReader(out, 0, 1<<40))
			child.Stdout, child.Stderr = out, os.Stderr
			if err := child.Start(); err != nil {
				t.Fatal(err)
			}
			children = append(children, child)
		}
		time.Sleep(time.Duration(150+rand.IntN(150)) * time.Millisecond) // for real processes
		for _, child := range children {
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = child.Wait()
		}
	}
	there := map[string]int{}
	for _, n := range strings.Fields(read(t, open(t, path, 4000))) {
		if there[n]++; there[n] > 1 {
			t.Errorf("letter %s is there twice", n)
		}
	}
	acknowledged := 0
	for _, r := range readers {
		last := "" // last printed number; the kill may have hidden its removal
		removed := map[string]bool{}
		var put []string
		for in := bufio.NewScanner(r); in.Scan(); {
			what, n, _ := strings.Cut(in.Text(), " ")
			switch last = n; what {
			case "put":
				put = append(put, n)
			case "removed":
				removed[n] = true
			default:
				t.Errorf("a process says %s", in.Text())
			}
		}
		acknowledged += len(put)
		for _, n := range put {
			i, err := strconv.Atoi(n)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case there[fmt.Sprint(i+500_000)] != 1:
				t.Errorf("letter %d was put and is not there", i+500_000)
			case removed[n] && there[n] != 0:
				t.Errorf("letter %s was removed and is there", n)
			case !removed[n] && there[n] != 1 && n != last:
				t.Errorf("letter %s was put and is not there", n)
			}
		}
	}
	if acknowledged < processes*rounds {
		t.Errorf("%d processes put %d letters", processes*rounds, acknowledged)
	}
}
