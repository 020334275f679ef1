package server

import (
	"bytes"
	"cmp"
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
	Bootstrap string        // required: the path of the program
	Root      string        // the folder of the package, LAMBDA_TASK_ROOT. Default: that of the program
	Env       []string      // NAME=VALUE, in addition to [Region], keys, HOME, and the PATH and TMPDIR of this process
	Timeout   time.Duration // of an invocation, in whole seconds. Default: 30s
	MemoryMB  int           // as reported to the function; nothing enforces it. Default: 512
}

// slack is the additional time that an invocation may take after its timeout. The emulator starts and ends the
// bootstrap in this time, on a machine that may be busy.
const slack = time.Minute

// errUnanswered is the cause when an invocation is cancelled because the emulator does not answer.
var errUnanswered = errors.New("the emulator does not answer")

// Function is one environment of a function in Amazon's Runtime Interface Emulator. The first invocation starts the
// bootstrap, and so does the first one after a crash or a timeout. It takes one invocation at a time, as an
// environment of the service does. Concurrent invocations wait for each other.
type Function struct {
	o       FunctionOptions // with its defaults
	program string          // the emulator
	home    string          // its log
	limit   time.Duration   // of a wait for an answer
	http    *http.Transport

	invoking sync.Mutex

	mu  sync.Mutex // guards the fields below
	url string
	p   *process // the emulator, nil when it does not run
}

// StartFunction starts the emulator. The first call on a machine also installs it. The caller closes the function.
func StartFunction(ctx context.Context, o FunctionOptions) (*Function, error) {
	program, err := emulator(ctx)
	if err != nil {
		return nil, err
	}
	if o.Timeout%time.Second != 0 {
		return nil, fmt.Errorf("Timeout is %v: the emulator takes whole seconds", o.Timeout)
	}
	o.Root = cmp.Or(o.Root, filepath.Dir(o.Bootstrap))
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	o.MemoryMB = cmp.Or(o.MemoryMB, 512)
	home, err := os.MkdirTemp("", "tablewake-lambda-")
	if err != nil {
		return nil, err
	}
	f := &Function{o: o, program: program, home: home, limit: o.Timeout + slack, http: &http.Transport{}}
	if err := f.start(ctx); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// start starts the emulator if it does not run.
func (f *Function) start(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.p != nil {
		return nil
	}
	var ports [2]string
	var err error
	for i := range ports {
		if ports[i], err = FreePort(); err != nil {
			return err
		}
	}
	// If the standard input is a terminal or a pipe, the emulator waits for an event there.
	cmd := exec.Command(f.program, "--runtime-interface-emulator-address", "127.0.0.1:"+ports[0], "--runtime-api-address", "127.0.0.1:"+ports[1], f.o.Bootstrap)
	cmd.Dir = f.home
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + f.home, "TMPDIR=" + os.TempDir(), "LAMBDA_TASK_ROOT=" + f.o.Root,
		"AWS_REGION=" + Region, "AWS_ACCESS_KEY_ID=" + AccessKey, "AWS_SECRET_ACCESS_KEY=" + SecretKey, "AWS_EC2_METADATA_DISABLED=true",
		"AWS_LAMBDA_FUNCTION_TIMEOUT=" + strconv.Itoa(int(f.o.Timeout/time.Second)), "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=" + strconv.Itoa(f.o.MemoryMB),
	}, f.o.Env...)
	p, err := startProcess(cmd, filepath.Join(f.home, "log"))
	if err != nil {
		return err
	}
	base := "http://127.0.0.1:" + ports[0]
	if err := p.await(ctx, startLimit, func(ctx context.Context) error { return answers(ctx, base) }); err != nil {
		p.end(syscall.SIGKILL, 0)
		return fmt.Errorf("starting the Lambda emulator: %w", err)
	}
	f.p, f.url = p, base+"/2015-03-31/functions/function/invocations"
	return nil
}

// StartFunctionFor calls StartFunction for a test. It fails the test on an error, and closes the function at the end
// of the test.
func StartFunctionFor(t TB, o FunctionOptions) *Function {
	t.Helper()
	f, err := StartFunction(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// Invoke sends an event and returns the reply of the function. It returns a [FunctionError] if the function fails or
// times out. The emulator cuts an event after 6 MiB and 100 bytes, although the service would refuse it. If the
// emulator does not answer within a minute after the timeout of the function, Invoke ends it and returns an error
// with its log and its stacks.
//
// Invoke restarts the emulator after a timeout, because the emulator's own restart has a race: it may learn late that
// the bootstrap it killed has ended. Then the next invocation fails with Sandbox.Failure, or an invocation that fails
// or times out is never answered.
func (f *Function) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	f.invoking.Lock()
	defer f.invoking.Unlock()
	if err := f.start(ctx); err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, f.limit, errUnanswered)
	defer cancel()
	status, body, err := f.post(limited, event)
	switch {
	case err == nil:
		err = functionError(status, body)
		if failed, ok := errors.AsType[*FunctionError](err); ok && failed.Type == TimedOut {
			f.stop()
		}
		return body, err
	case errors.Is(context.Cause(limited), errUnanswered):
		return nil, fmt.Errorf("invoking the function: %w within %v, and the function has %v; the log, and the stacks of both:\n%s", errUnanswered, f.limit, f.o.Timeout, f.stacks())
	default: // the emulator may still work on it, and takes no other event meanwhile
		text := f.Log()
		err = fmt.Errorf("invoking the function: %w; its log:\n%s", err, text[max(0, len(text)-tailBytes):])
		f.stop()
		return nil, err
	}
}

// post sends an event to the emulator.
func (f *Function) post(ctx context.Context, event []byte) (status int, body []byte, err error) {
	f.mu.Lock()
	url := f.url
	f.mu.Unlock()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(event))
	if err != nil {
		return 0, nil, err
	}
	resp, err := (&http.Client{Transport: f.http}).Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	return resp.StatusCode, body, err
}

// Log returns the output of the function and the emulator.
func (f *Function) Log() string {
	b, _ := os.ReadFile(filepath.Join(f.home, "log"))
	return string(b)
}

// Close ends the function.
func (f *Function) Close() error {
	f.stop()
	return os.RemoveAll(f.home)
}
