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

// What the image runs, as whom, with nothing around it: a change of the table reaches the view,
// the image's own health check passes, and SIGTERM ends it with 0.
func TestTheImageConsumes(t *testing.T) {
	w := newShop(t)
	dir := imageFor(t, runtime.GOARCH)
	_, stage := dockerfile(t)
	entry, cmd, check := list(t, the(t, stage, "ENTRYPOINT")), list(t, the(t, stage, "CMD")), list(t, the(t, stage, "HEALTHCHECK"))

	port, err := server.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	address := "127.0.0.1:" + port // 8080 is the image's own only where its network is
	once := container(t.Context(), dir, slices.Concat(entry, cmd, []string{"--create", "--exit-when-idle", "1s", "--health", "off"}), w.env)
	if out, err := once.CombinedOutput(); err != nil {
		t.Fatalf("the tables are not made: %v\n%s", err, out)
	}

	service := container(t.Context(), dir, slices.Concat(entry, cmd, []string{"--health", address}), w.env)
	log := &buffer{}
	service.Stdout, service.Stderr = log, log
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- service.Wait() }()
	t.Cleanup(func() {
		_ = service.Process.Kill()
		if t.Failed() {
			t.Log(log.String())
		}
	})

	healthy := func(more ...string) bool {
		return container(t.Context(), dir, slices.Concat(check, []string{"--address", address}, more), nil).Run() == nil
	}
	until(t, "the health check passes", func() bool { return healthy() && healthy("--ready") })
	w.put(t, "ORDER#1", "paid")
	until(t, "the order is in the view", func() bool { return w.row(t, "STATUS#paid") })

	if err := service.Process.Signal(syscall.SIGTERM); err != nil {
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
