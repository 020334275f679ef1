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

const nobody = 65532 // the Dockerfile's USER

// container is a command in the image's root as the image's user: what a container runtime
// does, but for the namespaces of network and processes and for the read-only mount, in whose
// place stands that nothing in the root can be written by that user.
func container(ctx context.Context, dir string, args, env []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = "/", env
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: dir}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		return cmd
	}
	// Who is not root may be it in a namespace of users of its own.
	cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
	cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: nobody, HostID: os.Getuid(), Size: 1}}
	cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: nobody, HostID: os.Getgid(), Size: 1}}
	return cmd
}

// The program of the image, its user, and nothing around it: a change of the table reaches the view, the image's own
// health check passes, and SIGTERM ends it with 0. The tables are made before.
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

// consumes runs the command in the image until what it writes is there, and stops it.
func consumes(t *testing.T, w *shop, dir string, args, env []string) {
	t.Helper()
	port, err := server.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	address := "127.0.0.1:" + port // 8080 is a container's own only where its network is
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

// The commands of the compose file work in the image, with the servers' names replaced by those of the tests.
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
