package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// FunctionOptions describe a Lambda function.
type FunctionOptions struct {
	Bootstrap string        // required: the program, by its path
	Root      string        // the package's folder, LAMBDA_TASK_ROOT. Default: the program's
	Env       []string      // NAME=VALUE, beside the [Region] and keys of the tests, a PATH and nothing else of this process
	Timeout   time.Duration // of an invocation, in whole seconds. Default: 30s
	MemoryMB  int           // as the function is told; nothing enforces it. Default: 512
}

// Function is one environment of a function in Amazon's Runtime Interface Emulator:
// the bootstrap is started by the first invocation, and again by the one that follows
// a crash or a timeout. Like one of the service it takes one invocation at a time; those
// that are made at once wait for each other.
type Function struct {
	url  string
	home string // its log
	p    *process
	http *http.Transport

	invoking sync.Mutex
}

// StartFunction starts the emulator; it installs it at the first call on a machine. The
// caller closes the function.
func StartFunction(ctx context.Context, o FunctionOptions) (*Function, error) {
	program, err := emulator(ctx)
	if err != nil {
		return nil, err
	}
	if o.Root == "" {
		o.Root = filepath.Dir(o.Bootstrap)
	}
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second
	}
	if o.MemoryMB == 0 {
		o.MemoryMB = 512
	}
	var ports [2]string
	for i := range ports {
		if ports[i], err = FreePort(); err != nil {
			return nil, err
		}
	}
	home, err := os.MkdirTemp("", "tablewake-lambda-")
	if err != nil {
		return nil, err
	}
	// With a terminal or a pipe as its standard input it waits for an event there.
	cmd := exec.Command(program, "--runtime-interface-emulator-address", "127.0.0.1:"+ports[0], "--runtime-api-address", "127.0.0.1:"+ports[1], o.Bootstrap)
	cmd.Dir = home
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + os.TempDir(), "LAMBDA_TASK_ROOT=" + o.Root,
		"AWS_REGION=" + Region, "AWS_ACCESS_KEY_ID=" + AccessKey, "AWS_SECRET_ACCESS_KEY=" + SecretKey, "AWS_EC2_METADATA_DISABLED=true",
		"AWS_LAMBDA_FUNCTION_TIMEOUT=" + strconv.Itoa(int(o.Timeout/time.Second)), "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=" + strconv.Itoa(o.MemoryMB),
	}, o.Env...)
	p, err := startProcess(cmd, filepath.Join(home, "log"))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(home))
	}
	base := "http://127.0.0.1:" + ports[0]
	f := &Function{url: base + "/2015-03-31/functions/function/invocations", home: home, p: p, http: &http.Transport{}}
	if err := p.await(ctx, startLimit, func(ctx context.Context) error { return answers(ctx, base) }); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the Lambda emulator: %w", err), f.Close())
	}
	return f, nil
}

// StartFunctionFor is StartFunction for a test: it fails the test, and closes the
// function at its end.
func StartFunctionFor(t TB, o FunctionOptions) *Function {
	t.Helper()
	f, err := StartFunction(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// Invoke sends an event, and answers what the function replied. A function that fails
// or runs out of time replies, too: see [FunctionError]. The emulator cuts an event behind
// 6 MiB and 100 bytes, where the service would refuse it.
func (f *Function) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	f.invoking.Lock()
	defer f.invoking.Unlock()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url, bytes.NewReader(event))
	if err != nil {
		return nil, err
	}
	resp, err := (&http.Client{Transport: f.http}).Do(req)
	if err != nil {
		return nil, fmt.Errorf("invoking the function: %w; its log:\n%s", err, f.p.tail())
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	return body, functionError(resp.StatusCode, body)
}

// Log is what the function and the emulator have written.
func (f *Function) Log() string {
	b, _ := os.ReadFile(f.p.log)
	return string(b)
}

// Close ends the function.
func (f *Function) Close() error {
	f.p.end(syscall.SIGTERM, 5*time.Second)
	f.http.CloseIdleConnections()
	return os.RemoveAll(f.home)
}
