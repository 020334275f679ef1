package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// configuration has one sink, and a filter, an expression and a template to compile.
const configuration = `version: 1
name: coldstart
source: {table: shop}
filters: [{keep: {expr: 'new.Total > 10.50', name: large}}]
sinks: {history: {archive: {bucket: archive, partition: 'dt={@time|date:2006-01-02}'}}}
`

// event has one record, which passes the filter.
const event = `{"Records":[{"eventID":"1","eventName":"INSERT","eventSource":"aws:dynamodb","awsRegion":"us-east-1",` +
	`"eventSourceARN":"arn:aws:dynamodb:us-east-1:000000000000:table/shop/stream/2026-01-01T00:00:00.000",` +
	`"dynamodb":{"ApproximateCreationDateTime":1767225600,"Keys":{"PK":{"S":"a"}},"NewImage":{"PK":{"S":"a"},"Total":{"N":"11"}},"SequenceNumber":"100","SizeBytes":10,"StreamViewType":"NEW_AND_OLD_IMAGES"}}]}`

// started has the times of a start.
type started struct {
	asked    time.Duration // until the bootstrap requested its first event
	answered time.Duration // until the bootstrap had answered this event
}

// lambda serves Lambda's runtime API for one event, and S3. S3 accepts each object once, and returns none.
type lambda struct {
	began   time.Time
	asked   time.Duration
	answers chan answer

	mu      sync.Mutex
	objects map[string]bool
}

// answer is the answer of the function, and its time.
type answer struct {
	started
	body []byte
}

func (l *lambda) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path := strings.TrimPrefix(r.URL.Path, "/2018-06-01/runtime/invocation/"); {
	case path == r.URL.Path && r.Method == http.MethodPut:
		_, _ = io.Copy(io.Discard, r.Body) // the client reports a body that breaks off
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.objects[path] && r.Header.Get("If-None-Match") != "" {
			w.WriteHeader(http.StatusPreconditionFailed)
			_, _ = io.WriteString(w, "<Error><Code>PreconditionFailed</Code></Error>")
			return
		}
		w.Header().Set("ETag", `"of the object"`) // the ETag proves the write
		l.objects[path] = true
	case path == r.URL.Path:
		w.WriteHeader(http.StatusNotFound)
	case path == "next" && l.asked == 0:
		l.asked = time.Since(l.began)
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", "1")
		w.Header().Set("Lambda-Runtime-Deadline-Ms", fmt.Sprint(time.Now().Add(time.Minute).UnixMilli()))
		_, _ = io.WriteString(w, event)
	case path == "next": // there is only one event
		<-r.Context().Done()
	default: // the path is 1/response or 1/error
		body, _ := io.ReadAll(r.Body)
		l.answers <- answer{started{l.asked, time.Since(l.began)}, body}
		w.WriteHeader(http.StatusAccepted)
	}
}

// start starts the bootstrap in a folder, sends it an event, and ends it.
func start(ctx context.Context, dir string) (started, error) {
	if err := os.WriteFile(filepath.Join(dir, "tablewake.yaml"), []byte(configuration), 0o644); err != nil {
		return started{}, err
	}
	l := &lambda{answers: make(chan answer, 1), objects: make(map[string]bool)}
	api := httptest.NewServer(l)
	defer api.Close()
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "bootstrap"))
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.Env = []string{
		"AWS_LAMBDA_RUNTIME_API=" + strings.TrimPrefix(api.URL, "http://"), "AWS_LAMBDA_FUNCTION_NAME=coldstart", "LAMBDA_TASK_ROOT=" + dir,
		"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b", "AWS_ENDPOINT_URL_S3=" + api.URL,
	}
	l.began = time.Now()
	if err := cmd.Start(); err != nil {
		return started{}, err
	}
	ended := make(chan struct{})
	var why error // set before ended is closed
	go func() {
		defer close(ended)
		why = cmd.Wait()
	}()
	select {
	case a := <-l.answers:
		_ = cmd.Process.Kill()
		<-ended
		if string(a.body) != `{"batchItemFailures":[]}` {
			return started{}, fmt.Errorf("the function answered %s", a.body)
		}
		return a.started, nil
	case <-ended:
		return started{}, fmt.Errorf("the bootstrap ended: %w\n%s", cmp.Or(why, errors.New("by itself")), said.Bytes())
	}
}
