package dynamo_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
)

// permanent reports whether err is neither nil nor transient nor fatal.
func permanent(err error) bool {
	_, again := pipeline.Retryable(err)
	return err != nil && !again && !pipeline.IsFatal(err)
}

// withoutValues checks that an error is fit for logs. The values in these tests contain SECRET, and the error must not.
func withoutValues(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	r, ok := errors.AsType[redact.Redacted](err)
	if !ok || strings.Contains(err.Error(), "SECRET") || strings.Contains(r.Redacted(), "SECRET") {
		t.Errorf("not fit for logs: %v", err)
	}
}

// offline returns a DB without a server. Each call fails unless a fault answers it. The DB waits only a nanosecond
// between attempts.
func offline(t *testing.T, faults *dynamotest.Faults) *dynamo.DB {
	t.Helper()
	db, err := dynamo.New(dynamo.Options{
		Table:    table,
		Pipeline: "p",
		Backoff:  pipeline.Backoff{Base: time.Nanosecond, Max: time.Nanosecond},
		Client: dynamodb.New(dynamodb.Options{
			Region: "us-east-1", HTTPClient: faults.Client(noServer{}),
			Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{AccessKeyID: "key", SecretAccessKey: "SECRET"}, nil
			}),
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

type noServer struct{}

func (noServer) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("the test has no server")
}

// Each error code of the service is transient, fatal or permanent, and the error wraps the matching error value.
func TestErrorClasses(t *testing.T) {
	const transient, fatal, lasting = "transient", "fatal", "permanent"
	for code, want := range map[string]struct {
		kind  error
		class string
	}{
		"ProvisionedThroughputExceededException":   {dynamo.ErrThrottled, transient},
		"ThrottlingException":                      {dynamo.ErrThrottled, transient},
		"RequestLimitExceeded":                     {dynamo.ErrRequestLimit, transient},
		"TransactionConflictException":             {dynamo.ErrConflict, transient},
		"TransactionInProgressException":           {dynamo.ErrInProgress, transient},
		"IdempotentParameterMismatchException":     {dynamo.ErrTokenReused, transient},
		"InternalServerError":                      {dynamo.ErrUnavailable, transient},
		"ItemCollectionSizeLimitExceededException": {dynamo.ErrCollectionFull, lasting},
		"ValidationException":                      {dynamo.ErrInvalid, lasting},
		"ResourceNotFoundException":                {dynamo.ErrNoTable, fatal},
		"AccessDeniedException":                    {dynamo.ErrDenied, fatal},
		"UnrecognizedClientException":              {dynamo.ErrDenied, fatal},
		"ExpiredTokenException":                    {dynamo.ErrDenied, fatal},
		"SomethingNewException":                    {nil, lasting},
	} {
		t.Run(code, func(t *testing.T) {
			var faults dynamotest.Faults
			db := offline(t, &faults)
			refuse := dynamotest.Refuse(http.StatusBadRequest, code, "the item SECRET is at fault")
			faults.Next("PutItem", refuse, refuse, refuse, refuse)
			err := db.Write(t.Context(), put("SECRET", "SECRET"))
			withoutValues(t, err)
			if want.kind != nil && !errors.Is(err, want.kind) || !strings.Contains(err.Error(), code) || !strings.Contains(err.Error(), table) {
				t.Errorf("got %v, want %v, the code and the table", err, want.kind)
			}
			got := lasting
			if _, again := pipeline.Retryable(err); again {
				got = transient
			} else if pipeline.IsFatal(err) {
				got = fatal
			}
			if got != want.class {
				t.Errorf("%v is %s, want %s", err, got, want.class)
			}
		})
	}
}

// If there is no valid answer, the call is tried again, and the final error is transient.
func TestNoAnswer(t *testing.T) {
	for what, fault := range map[string]dynamotest.Fault{
		"reset": dynamotest.Reset(), "502": dynamotest.Unavailable(502), "429": dynamotest.Unavailable(429),
		"a cut refusal": dynamotest.Through(dynamotest.Refuse(http.StatusBadRequest, "ValidationException", "SECRET"), dynamotest.Cut(9)),
	} {
		var faults dynamotest.Faults
		db := offline(t, &faults)
		faults.Next("PutItem", fault, fault, fault, fault)
		err := db.Write(t.Context(), put("a", "SECRET"))
		withoutValues(t, err)
		if _, again := pipeline.Retryable(err); !again || faults.Calls("PutItem") != 4 {
			t.Errorf("%s: %v after %d calls, want a transient error after 4", what, err, faults.Calls("PutItem"))
		}
	}
}

// If the clock of the machine is wrong, the client signs with the time of the server after the first answer.
func TestWrongClock(t *testing.T) {
	var faults dynamotest.Faults
	db := offline(t, &faults)
	early := func(r *dynamotest.Request) (*http.Response, error) {
		resp, err := dynamotest.Refuse(http.StatusBadRequest, "InvalidSignatureException", "SECRET")(r)
		resp.Header.Set("Date", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
		return resp, err
	}
	faults.Next("PutItem", early, dynamotest.Refuse(http.StatusBadRequest, "ConditionalCheckFailedException", ""))
	err := db.Write(t.Context(), put("a", ""))
	if _, answered := errors.AsType[*dynamo.ConditionError](err); !answered {
		t.Errorf("behind the first signature, which came too late: %v", err)
	}
}

// The store recognizes the error texts with which DynamoDB Local refuses invalid sizes, numbers, types and names.
func TestServersWords(t *testing.T) {
	db := open(t, nil)
	if err := db.Write(t.Context(), put("number", "SECRET")); err != nil {
		t.Fatal(err)
	}
	with := func(a dynamo.Action, name string, v types.AttributeValue) dynamo.Action {
		a.Put.Item[name] = v
		return a
	}
	set := func(expression string, v types.AttributeValue) dynamo.Action {
		return dynamo.Action{Update: &types.Update{
			TableName: aws.String(table), Key: key("number"), UpdateExpression: &expression, ExpressionAttributeValues: dynamo.Item{":v": v},
		}}
	}
	large := dynamo.S(strings.Repeat("SECRET", 70_000))
	for what, c := range map[string]struct {
		action dynamo.Action
		kind   error
		says   string
	}{
		"a large item":            {with(put("a", ""), "x", large), dynamo.ErrTooLarge, "400 KB"},
		"an item that grows":      {set("SET x = :v", dynamo.S(strings.Repeat("S", 409_590))), dynamo.ErrTooLarge, "400 KB"},
		"39 digits":               {with(put("a", ""), "x", dynamo.N(strings.Repeat("9", 39))), dynamo.ErrNumber, ""},
		"a large number":          {with(put("a", ""), "x", dynamo.N("1E126")), dynamo.ErrNumber, ""},
		"a sum with a text":       {set("ADD says :v", dynamo.N("1")), dynamo.ErrInvalid, "another type"},
		"a key of another type":   {with(put("a", ""), "pk", dynamo.N("1")), dynamo.ErrInvalid, "another type"},
		"an empty key":            {put("", ""), dynamo.ErrInvalid, "pk is empty"},
		"a long key":              {put(strings.Repeat("SECRET", 400), ""), dynamo.ErrInvalid, "2048 bytes"},
		"a word that is reserved": {set("SET items = :v", dynamo.S("SECRET")), dynamo.ErrInvalid, "items"},
	} {
		for how, write := range map[string]func() error{
			"by itself":        func() error { return db.Write(t.Context(), c.action) },
			"in a transaction": func() error { return db.Transact(t.Context(), []dynamo.Action{c.action}) },
		} {
			err := write()
			withoutValues(t, err)
			if !errors.Is(err, c.kind) || !permanent(err) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s %s: %v, want %v, permanent, that says %q", what, how, err, c.kind, c.says)
			}
		}
	}
	var many []dynamo.Action
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"} {
		many = append(many, with(put(name, ""), "x", dynamo.S(strings.Repeat("SECRET", 60_000))))
	}
	err := db.Transact(t.Context(), many)
	withoutValues(t, err)
	if !errors.Is(err, dynamo.ErrTooLarge) || !strings.Contains(err.Error(), "4 MB") {
		t.Errorf("a transaction of 4 MB and more: %v", err)
	}
}

// If a call is cancelled while it waits for its next attempt, the error is transient and wraps the cause.
func TestStopped(t *testing.T) {
	var faults dynamotest.Faults
	db := offline(t, &faults)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the lease is gone")
	faults.Next("PutItem", func(r *dynamotest.Request) (*http.Response, error) {
		cancel(why)
		return dynamotest.Throttle()(r)
	})
	err := db.Write(ctx, put("a", ""))
	if _, again := pipeline.Retryable(err); !again || !errors.Is(err, why) || faults.Calls("PutItem") != 1 {
		t.Errorf("%v after %d calls", err, faults.Calls("PutItem"))
	}
}

func TestClosed(t *testing.T) {
	db := offline(t, &dynamotest.Faults{})
	if err := errors.Join(db.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	if err := db.Write(t.Context(), put("a", "")); !pipeline.IsFatal(err) {
		t.Errorf("a closed store: %v", err)
	}
}
