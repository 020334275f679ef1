//go:build linux

package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	build "github.com/tablewake/tablewake/test/e2e/program"
)

// every is a configuration with a store of each kind.
const every = `version: 1
name: shop
source: {table: shop}
detect: {completed: {attribute: Status, to: completed}}
sinks:
  orders: {view: {table: views, when: 'item.Type == "Order"', key: {PK: 'STATUS#{Status}', SK: '{@key}'}, attributes: {total: '{Total}'}}}
  days: {aggregate: {table: views, when: 'item.Type == "Order"', on_ttl_delete: keep, group: {PK: 'DAY#{CreatedAt|date:2006-01-02}', SK: DAY}, values: {orders: count, largest: {max: Total}}}}
  found: {search: {index: everything}}
  history: {archive: {bucket: history}}
  told: {notify: {events: [completed]}}
`

// inNamespace is a variable of the environment. It marks the process of the test that may mount file systems.
const inNamespace = "TABLEWAKE_TEST_NAMESPACE"

// limitedDisk is a folder on a disk with a limited size.
type limitedDisk struct {
	dir   string
	limit func(t *testing.T, bytes int)                       // sets the size, and keeps the files
	run   func(ctx context.Context, args ...string) *exec.Cmd // runs tablewake under the limit
}

// If the disk fills up at any point of a replay into a folder, the replay exits with 1 and says that the disk is full.
// When there is space again, the same command ends with the output of a disk that was never full.
//
// The disks are file systems in memory, in a namespace of the test's own. If the machine forbids such file systems, the
// size of each file is limited instead.
func TestFullDisk(t *testing.T) {
	const sizes = 50
	if os.Getenv(inNamespace) != "" {
		fillDisks(t, tmpfs(t), sizes)
		return
	}
	asReleased(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFullDisk$", "-test.v")
	cmd.Env = append(os.Environ(), inNamespace+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if _, ran := errors.AsType[*exec.ExitError](err); err != nil && !ran || bytes.Contains(out, []byte(cannotMount)) {
		t.Logf("no file system of the test's own (%v): the size of files is limited", err)
		fillDisks(t, fileSize(t), sizes)
		return
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// A limit on the size of files counts as a full disk.
func TestFullDisk_FileSize(t *testing.T) {
	asReleased(t)
	fillDisks(t, fileSize(t), 5)
}

// released is tablewake without the race detector, which would make a hundred replays slow.
var released string

func TestMain(m *testing.M) {
	if os.Getenv(inNamespace) != "" { // the parent process put tablewake into the PATH
		os.Exit(m.Run())
	}
	os.Exit(build.Main(m.Run, "", map[string]*string{"./cmd/tablewake": &released}))
}

// asReleased puts the released tablewake into the PATH of a test.
func asReleased(t *testing.T) {
	t.Helper()
	t.Setenv("PATH", filepath.Dir(released)+string(os.PathListSeparator)+os.Getenv("PATH"))
}

const cannotMount = "nothing can be mounted"

// tmpfs returns a disk in memory.
func tmpfs(t *testing.T) limitedDisk {
	dir := t.TempDir()
	mounted := false
	t.Cleanup(func() {
		if mounted {
			if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
				t.Error(err)
			}
		}
	})
	return limitedDisk{dir, func(t *testing.T, bytes int) {
		var flags uintptr
		if mounted {
			flags = syscall.MS_REMOUNT
		}
		if err := syscall.Mount("tmpfs", dir, "tmpfs", flags, fmt.Sprintf("size=%d", bytes)); err != nil {
			t.Fatalf("%s: %v", cannotMount, err)
		}
		mounted = true
	}, func(ctx context.Context, args ...string) *exec.Cmd {
		return exec.CommandContext(ctx, "tablewake", args...)
	}}
}

// fileSize returns a disk that allows no file larger than its size.
func fileSize(t *testing.T) limitedDisk {
	blocks := 0
	return limitedDisk{t.TempDir(), func(_ *testing.T, bytes int) { blocks = bytes / 512 },
		func(ctx context.Context, args ...string) *exec.Cmd {
			return exec.CommandContext(ctx, "sh", append([]string{"-c", fmt.Sprintf(`ulimit -f %d && exec tablewake "$@"`, blocks), "sh"}, args...)...)
		}}
}

func fillDisks(t *testing.T, disk limitedDisk, sizes int) {
	const room = 64 << 20
	given := t.TempDir()
	file, lines := filepath.Join(given, "tablewake.yaml"), filepath.Join(given, "stream.jsonl")
	stream, err := os.ReadFile(filepath.Join("..", "..", "..", "test", "fixtures", "shop", "stream.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	stream = bytes.Join(bytes.SplitAfter(stream, []byte("\n"))[:300], nil)
	if err := errors.Join(os.WriteFile(file, []byte(every), 0o600), os.WriteFile(lines, stream, 0o600)); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(disk.dir, "out")
	replay := func() (code int, text string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a replay that takes longer hangs
		defer cancel()
		b, err := disk.run(ctx, "replay", "-c", file, "--local", out, "--notify", lines).CombinedOutput()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return exit.ExitCode(), string(b)
		}
		if err != nil {
			t.Fatal(err)
		}
		return 0, string(b)
	}
	disk.limit(t, room)
	if code, text := replay(); code != 0 {
		t.Fatalf("with room: exit code %d\n%s", code, text)
	}
	want := contentsOf(t, out)
	most := largest(t, out)
	full := 0
	for i := range sizes {
		if err := os.RemoveAll(out); err != nil {
			t.Fatal(err)
		}
		size := (most*(i+1)/sizes + 4095) &^ 4095
		disk.limit(t, size)
		code, text := replay()
		switch {
		case strings.Contains(text, "goroutine ") || strings.Contains(text, "panic"):
			t.Errorf("%d bytes: it panics\n%s", size, text)
		case code == 0: // the disk is large enough
		case code != 1 || !strings.Contains(text, "the disk is full"):
			t.Errorf("%d bytes: exit code %d, want 1 and a word of the full disk\n%s", size, code, text)
		default:
			full++
		}
		disk.limit(t, room)
		if code, text := replay(); code != 0 {
			t.Errorf("%d bytes, then room: exit code %d\n%s", size, code, text)
		} else if got := contentsOf(t, out); got != want {
			t.Errorf("%d bytes, then room: the folder holds %d bytes, want %d", size, len(got), len(want))
		}
	}
	if full < sizes*2/3 {
		t.Errorf("of %d disks %d were full", sizes, full)
	}
	t.Logf("%d of %d disks, up to %d bytes, were full", full, sizes, most)
}

// contentsOf returns what queries find in a folder, without random parts.
func contentsOf(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	for _, query := range [][]string{{"view", "views"}, {"search", "everything"}, {"search", "everything", "completed", "-n", "1000"}, {"archive", "history"}, {"events"}, {"dead"}} {
		out, said := program.Run(t, cli.ExitOK, append(append([]string{"query"}, query...), "--local", dir, "-o", "json")...)
		all.WriteString(out + said)
	}
	return regexp.MustCompile(`"birth":"[a-z0-9]*",?`).ReplaceAllString(all.String(), "")
}

// largest returns more bytes than the files of a folder hold together while they grow.
func largest(t *testing.T, dir string) (bytes int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		bytes += int(info.Size()+4095) &^ 4095
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes * 3 / 2 // the log of views.db needs space, too
}
