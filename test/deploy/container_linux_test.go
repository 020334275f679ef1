package deploy

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/tablewake/tablewake/test/server"
)

const nobody = 65532 // the USER of the Dockerfile

// container returns a command that runs in the image's root as the image's user, like in a container. Unlike in a
// container, the command has no namespaces of network and processes, and the root is not mounted read-only. Instead,
// another test checks that this user can write nothing in the root but /tmp.
func container(ctx context.Context, dir string, args, env []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = "/", env
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: dir}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		return cmd
	}
	// A user who is not root needs a namespace of users for this.
	cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
	cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: nobody, HostID: os.Getuid(), Size: 1}}
	cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: nobody, HostID: os.Getgid(), Size: 1}}
	return cmd
}

// The program of the image runs as the image's user, with nothing around it. A change of the table reaches the view,
// the health check of the image passes, and the program ends with 0 after SIGTERM. The tables are made before.
func TestTheImageConsumes(t *testing.T) {
	w := newShop(t)
	dir := imageFor(t, runtime.GOARCH, "deploy/example")
	_, stage := dockerfile(t)
	args := slices.Concat(list(t, the(t, stage, "ENTRYPOINT")), texts(readStack(t, service).find(t, "Task.ContainerDefinitions.0.Command")))
	once := container(t.Context(), dir, slices.Concat(args, []string{"--create", "--exit-when-idle", "1s", "--health", "off"}), w.env)
	if out, err := once.CombinedOutput(); err != nil {
		t.Fatalf("the tables are not made: %v\n%s", err, out)
	}
	consumes(t, w, dir, args, w.env)
}

// consumes runs the command in the image until its writes have arrived, and stops it.
func consumes(t *testing.T, w *shop, dir string, args, env []string) {
	t.Helper()
	port, err := server.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	address := "127.0.0.1:" + port // without a network of its own, port 8080 may be in use
	_, stage := dockerfile(t)
	check := append(list(t, the(t, stage, "HEALTHCHECK")), "--address", address)
	healthy := func(more ...string) bool {
		return container(t.Context(), dir, slices.Concat(check, more), nil).Run() == nil
	}

	process := container(t.Context(), dir, append(args, "--health", address), env)
	log := &buffer{}
	process.Stdout, process.Stderr = log, log
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- process.Wait() }()
	t.Cleanup(func() {
		_ = process.Process.Kill()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	until(t, "the health check passes", func() bool { return healthy() && healthy("--ready") })
	w.put(t, "ORDER#1", "paid")
	until(t, "the order is in the view", func() bool { return w.row(t, "STATUS#paid") })

	if err := process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err = <-ended:
	case <-time.After(patience):
		err = errors.New("it does not end")
	}
	if err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	if healthy() {
		t.Error("the health check passes, and nobody is there")
	}
}

// The commands of the compose file work in the image, with the servers of the tests instead of the file's.
func TestWhatComposeRunsConsumes(t *testing.T) {
	p, err := compose(t, "deploy/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	w := newShop(t)
	dir := imageFor(t, runtime.GOARCH, p.Services["tablewake"].Build.Args["CONFIG"])
	_, stage := dockerfile(t)
	args := slices.Concat(list(t, the(t, stage, "ENTRYPOINT")), p.Services["tablewake"].Command)
	consumes(t, w, dir, args, w.composed(t, p.Services["tablewake"].Environment))
}
