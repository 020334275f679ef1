package patience_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/tablewake/tablewake/cmd/internal/patience"
	"github.com/tablewake/tablewake/pipeline"
)

// A start repeats a call that fails for a passing reason, for up to five minutes. Any other error ends the start at
// once.
func TestWait(t *testing.T) {
	status := func(code int) error {
		return &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: &http.Response{StatusCode: code}}, Err: errors.New("it fails")}
	}
	for name, tt := range map[string]struct {
		err   error
		waits bool
	}{
		"a transient error":      {pipeline.Transient(errors.New("not now")), true},
		"one that is wrapped":    {fmt.Errorf("sink orders: %w", pipeline.Transient(errors.New("not now"))), true},
		"a throttled call":       {&smithy.GenericAPIError{Code: "ThrottlingException"}, true},
		"a table over its bound": {fmt.Errorf("table: %w", &smithy.GenericAPIError{Code: "ProvisionedThroughputExceededException"}), true},
		"a 503":                  {fmt.Errorf("queue: %w", status(503)), true},
		"a 500":                  {status(500), true},
		"a denied call":          {&smithy.GenericAPIError{Code: "AccessDeniedException"}, false},
		"a missing table":        {&smithy.GenericAPIError{Code: "ResourceNotFoundException"}, false},
		"a fatal error":          {pipeline.Fatal(errors.New("another pipeline's")), false},
		"a wrong file":           {errors.New("line 3"), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var said strings.Builder
				log := slog.New(slog.NewTextHandler(&said, nil))
				began, fails := time.Now(), 0
				got, err := patience.Retry(t.Context(), log, "reading the leases", func(string, error) { fails++ }, func() (int, error) {
					if time.Since(began) > 3*time.Minute {
						return 7, nil
					}
					return 0, tt.err
				})
				if lines := strings.Count(said.String(), "reading the leases"); tt.waits && (err != nil || got != 7 || lines < 3 || lines > 4 || fails < lines) {
					t.Errorf("%d, %v after %v and %d failures\n%s", got, err, time.Since(began), fails, said.String())
				}
				if !tt.waits && (!errors.Is(err, tt.err) || time.Since(began) > 0) {
					t.Errorf("%v after %v", err, time.Since(began))
				}

				began = time.Now()
				_, err = patience.Retry(t.Context(), log, "", nil, func() (int, error) { return 0, tt.err })
				if took := time.Since(began); !errors.Is(err, tt.err) || tt.waits && (took < patience.StartTimeout || took > patience.StartTimeout+time.Minute) {
					t.Errorf("%v after %v", err, took)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				began = time.Now()
				if _, err = patience.Retry(ctx, log, "", nil, func() (int, error) { return 0, tt.err }); err == nil || time.Since(began) > time.Minute {
					t.Errorf("%v after %v, told to stop after a minute", err, time.Since(began))
				}
			})
		})
	}
}
