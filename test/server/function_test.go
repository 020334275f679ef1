package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
)

// obedient is a function that does what its event says. The test program itself is the bootstrap.
type obedient struct{ calls int }

func (o *obedient) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	o.calls++
	switch string(event) {
	case `"fail"`:
		return nil, errors.New("as asked")
	case `"panic"`:
		panic("as asked")
	case `"exit"`:
		os.Exit(3)
	case `"stop the emulator"`: // it answers no more requests
		fmt.Fprintln(os.Stderr, "asked to stop the emulator")
		_ = syscall.Kill(os.Getppid(), syscall.SIGSTOP)
		<-context.WithoutCancel(ctx).Done()
	case `"hang"`:
		fmt.Fprintln(os.Stderr, "asked to hang")
		<-context.WithoutCancel(ctx).Done()
	}
	return fmt.Appendf(nil, "%d bytes, call %d, root %s", len(event), o.calls, os.Getenv("LAMBDA_TASK_ROOT")), nil
}

func runFunction(string) {
	if os.Getenv("BROKEN") != "" {
		fmt.Fprintln(os.Stderr, "this function is broken")
		os.Exit(1)
	}
	lambda.Start(&obedient{})
}

func function(t *testing.T, env ...string) *Function {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return StartFunctionFor(t, FunctionOptions{Bootstrap: self, Root: "/package", Timeout: time.Second, Env: env})
}

func TestAFunctionFailsInEachWayAndGoesOn(t *testing.T) {
	f := function(t)
	for _, tt := range []struct{ event, reply, fails string }{
		{`"one"`, "5 bytes, call 1, root /package", ""},
		{`"two"`, "5 bytes, call 2, root /package", ""},
		{`"fail"`, "", "errorString"},
		{`"on"`, "4 bytes, call 4, root /package", ""}, // the same process
		{`"panic"`, "", "string"},
		{`"on"`, "4 bytes, call 1, root /package", ""}, // a new process
		{`"exit"`, "", "Runtime.ExitError"},
		{`"on"`, "4 bytes, call 1, root /package", ""},
		{`"hang"`, "", TimedOut},
		{"", "0 bytes, call 1, root /package", ""},
		{strings.Repeat("x", 7<<20), fmt.Sprintf("%d bytes, call 2, root /package", 6<<20+100), ""},
	} {
		reply, err := f.Invoke(t.Context(), []byte(tt.event))
		failed, _ := errors.AsType[*FunctionError](err)
		switch {
		case err != nil && failed == nil:
			t.Fatalf("%.10s: %v", tt.event, err)
		case tt.fails == "" && (err != nil || !bytes.Equal(reply, []byte(tt.reply))):
			t.Errorf("%.10s: %v, %s", tt.event, err, reply)
		case tt.fails != "" && (failed == nil || failed.Type != tt.fails):
			t.Errorf("%.10s: %v, want a %s", tt.event, err, tt.fails)
		}
	}
}

func TestAnInvocationThatIsNeverAnsweredIsGivenUp(t *testing.T) {
	f := function(t)
	f.o.Timeout = 30 * time.Second // applies when the emulator starts again
	f.stop()
	if _, err := f.Invoke(t.Context(), []byte("{}")); err != nil {
		t.Fatal(err)
	}
	f.limit = 2 * time.Second
	_, err := f.Invoke(t.Context(), []byte(`"stop the emulator"`))
	if !errors.Is(err, errUnanswered) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"within 2s, and the function has 30s", "asked to stop the emulator", "(*obedient).Invoke"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
	f.limit = time.Minute
	if reply, err := f.Invoke(t.Context(), []byte("{}")); err != nil || !strings.Contains(string(reply), "call 1,") { // of another process
		t.Errorf("%s, %v", reply, err)
	}
}

func TestAnInvocationThatItsCallerGivesUpIsEnded(t *testing.T) {
	f := function(t)
	ctx, cancel := context.WithCancel(t.Context())
	var invoked sync.WaitGroup
	var failed error
	invoked.Go(func() { _, failed = f.Invoke(ctx, []byte(`"hang"`)) })
	for !strings.Contains(f.Log(), "asked to hang") {
		time.Sleep(time.Millisecond)
	}
	cancel()
	invoked.Wait()
	if !errors.Is(failed, context.Canceled) {
		t.Errorf("got %v", failed)
	}
	if reply, err := f.Invoke(t.Context(), []byte("{}")); err != nil || !strings.Contains(string(reply), "call 1,") {
		t.Errorf("%s, %v", reply, err)
	}
}

func TestABootstrapThatEndsAtOnceSaysWhyInTheLog(t *testing.T) {
	f := function(t, "BROKEN=1")
	_, err := f.Invoke(t.Context(), []byte("{}"))
	if failed, ok := errors.AsType[*FunctionError](err); !ok || failed.Type != "Runtime.InitError" {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(f.Log(), "this function is broken") {
		t.Errorf("the log:\n%s", f.Log())
	}
}

func TestACrashFailsTheInvocationAlone(t *testing.T) {
	f := function(t)
	if err := f.Crash(); err != nil { // no process runs yet
		t.Fatal(err)
	}
	if _, err := f.Invoke(t.Context(), []byte("{}")); err != nil {
		t.Fatal(err)
	}
	var invoked sync.WaitGroup
	var failed error
	invoked.Go(func() { _, failed = f.Invoke(t.Context(), []byte(`"hang"`)) })
	for !strings.Contains(f.Log(), "asked to hang") {
		time.Sleep(time.Millisecond)
	}
	if err := f.Crash(); err != nil {
		t.Fatal(err)
	}
	invoked.Wait()
	if e, ok := errors.AsType[*FunctionError](failed); !ok || e.Type != "Runtime.ExitError" {
		t.Errorf("got %v", failed)
	}
	if _, err := f.Invoke(t.Context(), []byte("{}")); err != nil {
		t.Error(err)
	}
	if err := f.Crash(); err != nil { // between two events
		t.Fatal(err)
	}
	if _, err := f.Invoke(t.Context(), []byte("{}")); err != nil {
		t.Log(err)
		if _, err := f.Invoke(t.Context(), []byte("{}")); err != nil {
			t.Error(err)
		}
	}
}

func TestInvocationsMadeAtOnceWaitForEachOther(t *testing.T) {
	f := function(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := f.Invoke(t.Context(), []byte("{}")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if reply, err := f.Invoke(t.Context(), []byte("{}")); err != nil || !strings.Contains(string(reply), "call 9") {
		t.Errorf("%s, %v", reply, err)
	}
}
