package deploy

import (
	"debug/elf"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// image has the folders that become the root of the image. The commands of the Dockerfile's build stage make a folder
// for each architecture and configuration. No image is built, because that needs Docker.
var image = struct {
	sync.Mutex
	made map[string]string
}{made: map[string]string{}}

// TestMain removes the images.
func TestMain(m *testing.M) {
	code := m.Run()
	for _, dir := range image.made {
		_ = os.RemoveAll(filepath.Dir(dir))
	}
	os.Exit(code)
}

// imageFor makes the folder of an image once, with the configuration of a folder.
func imageFor(t *testing.T, arch, config string) string {
	t.Helper()
	image.Lock()
	defer image.Unlock()
	if dir := image.made[arch+config]; dir != "" {
		return dir
	}
	parent, err := os.MkdirTemp("", "tablewake-image-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(parent, 0o755); err != nil { // the container runs as the user nobody, who must read it
		t.Fatal(err)
	}
	dir := filepath.Join(parent, "image")
	image.made[arch+config] = dir
	build, _ := dockerfile(t)
	env := []string{"TARGETARCH=" + arch}
	for _, in := range build {
		switch {
		case in.name == "ARG" && strings.Contains(in.text, "="):
			env = append(env, in.text)
			if strings.HasPrefix(in.text, "CONFIG=") {
				env = append(env, "CONFIG="+config)
			}
		case in.name == "RUN" && in.text != "go mod download": // the modules are here already
			cmd := exec.CommandContext(t.Context(), "sh", "-ec", strings.ReplaceAll(in.text, "/image", dir))
			cmd.Env = append(os.Environ(), env...)
			if out, err := run(t, cmd); err != nil {
				t.Fatalf("RUN %s\n%v\n%s", in.text, err, out)
			}
		}
	}
	return dir
}

func TestTheImagesProgramIsStatic(t *testing.T) {
	for arch, machine := range map[string]elf.Machine{"arm64": elf.EM_AARCH64, "amd64": elf.EM_X86_64} {
		f, err := elf.Open(filepath.Join(imageFor(t, arch, "deploy/example"), "tablewake"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if f.Machine != machine || f.Type != elf.ET_EXEC {
			t.Errorf("the program for %s is %v for %v", arch, f.Type, f.Machine)
		}
		for _, p := range f.Progs {
			if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
				t.Errorf("the program for %s needs a loader, which the image has not: %v", arch, p.Type)
			}
		}
	}
}

// In the image, the user nobody can write only into /tmp, as with a read-only root.
func TestTheImageHoldsLittleAndNothingThatMayBeWritten(t *testing.T) {
	dir := imageFor(t, runtime.GOARCH, "deploy/example")
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, dir)
		if !d.IsDir() {
			files = append(files, name)
		}
		if info.Mode().Perm()&0o002 != 0 && name != "/tmp" {
			t.Errorf("%s may be written by anybody: %v", name, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "/etc/ssl/certs/ca-certificates.crt /etc/tablewake/tablewake.yaml /tablewake"
	if got := strings.Join(files, " "); got != want {
		t.Errorf("the image holds %s, want %s", got, want)
	}
	_, stage := dockerfile(t)
	if user := the(t, stage, "USER"); user != "65532:65532" {
		t.Errorf("USER %s", user)
	}
	if from := the(t, stage, "FROM"); from != "scratch" {
		t.Errorf("FROM %s", from)
	}
}
