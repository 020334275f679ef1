package function

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda/messages"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/tablewake/tablewake/pipeline/telemetry"
)

// answering makes a Lambda handler of a function.
type answering func(ctx context.Context) ([]byte, error)

func (a answering) Invoke(ctx context.Context, _ []byte) ([]byte, error) { return a(ctx) }

func started(t *testing.T, out *bytes.Buffer) *telemetry.Telemetry { return patient(t, out, 0) }

// patient starts telemetry that waits for a collector up to patience, if the invocation has the time.
func patient(t *testing.T, out *bytes.Buffer, patience time.Duration) *telemetry.Telemetry {
	t.Helper()
	tel, err := telemetry.Start(t.Context(), telemetry.Options{Pipeline: "shop", Lambda: true, Writer: out, Patience: patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tel.Shutdown(context.Background()) })
	return tel
}

func invocation(t *testing.T, timeout time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	t.Cleanup(cancel)
	return lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{AwsRequestID: "r1", InvokedFunctionArn: "arn:aws:lambda:eu-central-1:123456789012:function:fn"})
}

// The measurements of an invocation are exported before its reply. Its span belongs to the trace that Lambda names, and
// holds no text of an error.
func TestAnInvocationIsObserved(t *testing.T) {
	t.Setenv("OTEL_TRACES_EXPORTER", "console")
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "fn")
	t.Setenv("_X_AMZN_TRACE_ID", "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1")
	var out bytes.Buffer
	tel := started(t, &out)
	n, err := tel.Meter.Meter("test").Int64Counter("tablewake.test")
	if err != nil {
		t.Fatal(err)
	}
	failure := errors.New("tweety is wrong")
	h := withSpans(answering(func(ctx context.Context) ([]byte, error) {
		n.Add(ctx, 1)
		return nil, failure
	}), tel, slog.New(slog.DiscardHandler))
	if _, err := h.Invoke(invocation(t, time.Minute), nil); !errors.Is(err, failure) {
		t.Errorf("the error is %v", err)
	}
	for _, want := range []string{`"tablewake.test":1`, `"Name":"fn"`, "5759e988bd862e3fe1be46a994272793", "53995c3f42cd8ad8", `"Code":"Error"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("what is exported does not have %s: %s", want, &out)
		}
	}
	if strings.Contains(out.String(), "tweety") {
		t.Errorf("what is exported has the text of the error: %s", &out)
	}
}

// If a collector hangs, an invocation still replies before its deadline, and after the collector was asked.
func TestAReplyDoesNotWaitForACollector(t *testing.T) {
	asked, hang := make(chan struct{}, 100), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-hang
	}))
	defer server.Close()
	defer close(hang)
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", server.URL)
	var out bytes.Buffer
	h := withSpans(answering(func(context.Context) ([]byte, error) { return []byte("answer"), nil }), patient(t, &out, time.Minute), slog.New(slog.DiscardHandler))
	ctx := invocation(t, 4*time.Second)
	answer, err := h.Invoke(ctx, nil)
	if string(answer) != "answer" || err != nil {
		t.Errorf("the answer is %s, %v", answer, err)
	}
	if ctx.Err() != nil {
		t.Error("the reply came behind the deadline")
	}
	select {
	case <-asked:
	default:
		t.Error("the reply came before the collector was asked")
	}
}

// observed returns an error that ends the process without wrapping it, because lambda.Start checks its type alone.
func TestAProcessThatIsOfNoUseEnds(t *testing.T) {
	var out bytes.Buffer
	h := withSpans(answering(func(context.Context) ([]byte, error) {
		return nil, messages.InvokeResponse_Error{Message: "stuck", ShouldExit: true}
	}), started(t, &out), slog.New(slog.DiscardHandler))
	_, err := h.Invoke(invocation(t, time.Minute), nil)
	if e, ok := err.(messages.InvokeResponse_Error); !ok || !e.ShouldExit { //nolint:errorlint // lambda.Start checks the type in this way
		t.Errorf("the error is %T: %v", err, err)
	}
}
