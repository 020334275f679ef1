package handlers

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	reply "github.com/aws/aws-lambda-go/lambda/messages"

	"github.com/tablewake/tablewake/shardreader/streamtest"
)

// ends reports whether lambda.Start ends the process with an error.
func ends(err error) bool {
	e, ok := err.(reply.InvokeResponse_Error) //nolint:errorlint // as lambda.Start looks at it
	return ok && e.ShouldExit && strings.Contains(e.Message, "the process must be replaced")
}

// A sink that never returns costs the time of one invocation. The next one asks for another process, whatever its event
// is. A run that was not abandoned is only waited for.
func TestStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		s := &store{fail: func(_ context.Context, key string) error {
			if key == "b" {
				<-stuck
			}
			return nil
		}}
		server, st, shard, seqs := stream(t, streamtest.Options{}, "x")
		h := All(assemble(t, s, &graveyard{}), WithStreams(server))
		both := make(chan error, 1)
		go func() {
			time.Sleep(30 * time.Second)
			_, err := h.Invoke(within(t, 20*time.Second), []byte(records("c")))
			both <- err
		}()
		answer, err := h.Invoke(within(t, time.Minute), []byte(records("a", "b", "c")))
		if err != nil || failures(t, answer) != "102" {
			t.Errorf("the first: %s, %v", answer, err)
		}
		if err := <-both; !errors.Is(err, errDeadline) {
			t.Errorf("beside the first: %v", err)
		}
		for name, event := range map[string]string{
			"records":  records("b", "c"),
			"messages": messages(given(st.ARN(), shard, seqs[0], seqs[0], 1), "x"),
		} {
			if answer, err := h.Invoke(within(t, time.Minute), []byte(event)); answer != nil || !ends(err) {
				t.Errorf("%s: %s, %v", name, answer, err)
			}
		}
		if answer, err := h.Invoke(within(t, 0), []byte(records("c"))); answer != nil || ends(err) {
			t.Errorf("without any time: %s, %v", answer, err)
		}
		close(stuck)
		synctest.Wait()
		if answer, err := h.Invoke(within(t, time.Minute), []byte(records("c"))); err != nil || failures(t, answer) != "" {
			t.Errorf("once it returned: %s, %v", answer, err)
		}
	})
}
