package filelock

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tablewake/tablewake/test/testmain"
)

// childLock names the environment variable with the lock that a child process of the test takes and keeps.
const childLock = "TABLEWAKE_TEST_LOCK"

func TestMain(m *testing.M) {
	testmain.Run(m, testmain.Child(childLock, func(path string) {
		if _, err := Take(context.Background(), path, Exclusive, 0); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("locked")
		select {}
	}))
}

func take(t *testing.T, path string, mode Mode) *Lock {
	t.Helper()
	l, err := Take(t.Context(), path, mode, 0)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestWhoExcludesWhom(t *testing.T) {
	for _, test := range []struct {
		has, wants Mode
		together   bool
	}{{Exclusive, Exclusive, false}, {Exclusive, Shared, false}, {Shared, Exclusive, false}, {Shared, Shared, true}} {
		path := filepath.Join(t.TempDir(), "new", ".lock")
		first := take(t, path, test.has)
		second, err := Take(t.Context(), path, test.wants, 0)
		if (err == nil) != test.together || err != nil && !errors.Is(err, ErrInUse) {
			t.Errorf("%v beside %v: %v", test.wants, test.has, err)
		}
		if taken, err := Taken(path); err != nil || taken != (test.has == Exclusive) {
			t.Errorf("beside %v: taken is %v (%v)", test.has, taken, err)
		}
		if second != nil {
			err = second.Release()
		} else {
			err = nil
		}
		if err := errors.Join(err, first.Held(), first.Release()); err != nil {
			t.Error(err)
		}
		if err := take(t, path, Exclusive).Release(); err != nil {
			t.Error(err)
		}
	}
	if taken, err := Taken(filepath.Join(t.TempDir(), "none")); taken || err != nil {
		t.Errorf("no file is taken: %v (%v)", taken, err)
	}
}

func TestTakeWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".lock")
	first := take(t, path, Exclusive)
	var wg sync.WaitGroup
	wg.Go(func() {
		second, err := Take(context.Background(), path, Exclusive, time.Minute)
		if err == nil {
			err = second.Release()
		}
		if err != nil {
			t.Error(err)
		}
	})
	if err := first.Release(); err != nil {
		t.Error(err)
	}
	wg.Wait()

	first = take(t, path, Exclusive)
	defer first.Release()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Take(ctx, path, Exclusive, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("a wait that is cancelled ends with %v", err)
	}
}

// A process that holds the lock of a removed file does not exclude other processes.
func TestARemovedFileIsNotHeld(t *testing.T) {
	for name, remove := range map[string]func(path string) error{
		"removed": os.Remove,
		"with its folder": func(path string) error {
			return os.RemoveAll(filepath.Dir(path))
		},
		"replaced": func(path string) error {
			return errors.Join(os.WriteFile(path+"~", nil, 0o644), os.Rename(path+"~", path))
		},
	} {
		path := filepath.Join(t.TempDir(), "folder", ".lock")
		first := take(t, path, Exclusive)
		if err := remove(path); err != nil {
			t.Fatal(err)
		}
		if err := first.Held(); err == nil || !strings.Contains(err.Error(), "removed or replaced") {
			t.Errorf("%s: it is held: %v", name, err)
		}
		second := take(t, path, Exclusive)
		if err := errors.Join(second.Held(), second.Release(), first.Release()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Goroutines that lock and remove the file in any order never hold the lock at the same time.
func TestOneAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder", ".lock")
	var inside sync.Mutex
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 50 {
				l, err := Take(context.Background(), path, Exclusive, time.Minute)
				if err != nil {
					t.Error(err)
					return
				}
				if !inside.TryLock() {
					t.Error("two have the lock")
					return
				}
				inside.Unlock()
				if i%10 == 9 {
					_ = os.RemoveAll(filepath.Dir(path)) // other goroutines may create the file again meanwhile
				}
				if err := l.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// A killed process loses its lock.
func TestAProcessThatDies(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".lock")
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childLock+"="+path)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "locked\n" {
		t.Errorf("the child says %q (%v)", line, err)
	}
	if _, err := Take(t.Context(), path, Exclusive, 0); !errors.Is(err, ErrInUse) {
		t.Errorf("beside a child that has the lock: %v", err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // the error only says that the child was killed
	if err := take(t, path, Exclusive).Release(); err != nil {
		t.Error(err)
	}
}
