// Command release makes the files of a release. It makes an archive of each program for each platform, and a bill of
// materials for each archive. It adds a statement about the origin of the files, and the checksums of all files.
//
//	go run ./deploy/release -version v1.2.3 -out dist
//
// It needs only the go command. The same sources and the same version of Go make the same bytes in any folder, so
// anyone can check an archive by making it again.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

const usage = `usage: go run ./deploy/release [-version VERSION] [-out DIR] [-only TEXT]

Makes the archives of a release, in a clone of the repository:

  tablewake-lambda_VERSION_linux_ARCH.zip   the bootstrap of a Lambda function, a configuration
                                            to start from, and a template that deploys the two
  tablewake_VERSION_OS_ARCH.tar.gz          the command line, and the consumer in it
  *.cdx.json                                what each is made of: modules, versions, sums and
                                            licences (CycloneDX 1.6)
  provenance.intoto.json                    from which commit, by which command and Go they were made
                                            (in-toto, SLSA 1; not signed)
  checksums.txt                             SHA-256 of all (sha256sum -c checksums.txt)

The same tree and Go give the same bytes. It needs the go command and nothing else.

  -version  of the release; by default what git describe says
  -out      a folder, made if it is missing; files of the same names are replaced (dist)
  -only     the archives whose names contain this, as linux_arm64 or tablewake-lambda

  go run ./deploy/release
  go run ./deploy/release -version v1.2.3 -out /tmp/v1.2.3
  go run ./deploy/release -only tablewake-lambda && (cd dist && sha256sum -c checksums.txt)

Exit codes: 0 all is made, 1 something failed, 2 the command line is wrong.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// options are the flags.
type options struct {
	version, out, only string
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage)
		return 0
	}
	if err != nil {
		fmt.Fprintf(stderr, "release: %v\n%s", err, usage)
		return 2
	}
	if err := release(ctx, o, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "release:", err)
		return 1
	}
	return 0
}

// versionPattern matches a version that is safe in the name of a file and in a flag of the linker.
var versionPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.+-]*$`)

func parse(args []string) (o options, err error) {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.version, "version", "", "")
	flags.StringVar(&o.out, "out", "dist", "")
	flags.StringVar(&o.only, "only", "", "")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if o.version != "" && !versionPattern.MatchString(o.version) {
		return o, fmt.Errorf("-version %q: only letters, digits, dots, plus and minus", o.version)
	}
	return o, nil
}

func release(ctx context.Context, o options, stdout, stderr io.Writer) error {
	root, err := moduleRoot(ctx)
	if err != nil {
		return err
	}
	o.version = cmp.Or(o.version, gitVersion(ctx, root))
	var wanted []target
	for _, t := range targets() {
		if strings.Contains(t.archive(o.version), o.only) {
			wanted = append(wanted, t)
		}
	}
	if len(wanted) == 0 {
		return fmt.Errorf("no archive's name contains %q", o.only)
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "tablewake-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)

	began := time.Now()
	var made []string
	for i, t := range wanted {
		fmt.Fprintf(stderr, "[%d/%d] %s\n", i+1, len(wanted), t.archive(o.version))
		names, err := t.make(ctx, root, work, o)
		if err != nil {
			return fmt.Errorf("%s: %w", t.archive(o.version), err)
		}
		made = append(made, names...)
	}
	if err := writeProvenance(ctx, root, o, made); err != nil {
		return err
	}
	made = append(made, provenanceFile)
	if err := writeChecksums(o.out, made); err != nil {
		return err
	}
	for _, name := range append(made, "checksums.txt") {
		fmt.Fprintln(stdout, filepath.Join(o.out, name))
	}
	fmt.Fprintf(stderr, "%s: %d files in %s\n", o.version, len(made)+1, time.Since(began).Round(time.Second/10))
	return nil
}

// moduleRoot returns the root folder of the module. The working folder may be any folder in the module.
func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Path}} {{.Dir}}").Output()
	path, dir, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if err != nil || path != modulePath {
		return "", errors.Join(errors.New("not in a clone of "+modulePath), err)
	}
	return dir, nil
}

// gitVersion returns git's description of the sources, such as v1.2.3-4-gabcdef. Without git it returns dev.
func gitVersion(ctx context.Context, root string) string {
	text, err := git(ctx, root, "describe", "--tags", "--always", "--dirty")
	if err != nil || !versionPattern.MatchString(text) {
		return "dev"
	}
	return text
}

// git runs a git command in the folder root, and returns its output without white space at the ends.
func git(ctx context.Context, root string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = root
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}
