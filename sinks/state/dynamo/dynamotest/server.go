package dynamotest

import (
	"context"
	"crypto/rand"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
)

// Env is the environment variable with the endpoint of DynamoDB Local.
const Env = "TABLEWAKE_TEST_DYNAMODB"

// Server is DynamoDB Local as one test uses it.
type Server struct {
	salt      string // random part of table names, since the server outlives the test
	endpoint  string
	transport *http.Transport

	mu     sync.Mutex
	tables []string // full names of the created tables
}

// Open returns the server of the environment variable Env, and fails the test if Env is not set. It deletes the
// tables and closes the connections when the test ends.
func Open(t testing.TB) *Server {
	t.Helper()
	endpoint := os.Getenv(Env)
	if endpoint == "" {
		t.Fatal(Env + " is not set: run the tests by  go run ./test/servers -- go test ./...")
	}
	s := &Server{salt: rand.Text()[:10], endpoint: endpoint, transport: &http.Transport{MaxIdleConnsPerHost: 32}}
	t.Cleanup(func() {
		defer s.transport.CloseIdleConnections()
		if err := s.clean(); err != nil {
			t.Errorf("deleting the tables of the test: %v", err)
		}
	})
	return s
}

// Client returns a client of a world. Clients of one Server and one world see the same tables. faults may be nil.
func (s *Server) Client(world string, faults *Faults) *dynamodb.Client {
	return dynamodb.New(s.options(faults), func(o *dynamodb.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Initialize.Add(&renaming{s, s.prefix(world)}, middleware.Before)
		})
	})
}

// options returns the options of a client. DynamoDB Local keeps some 30 threads for
// every access key, so all tests of a process share one.
func (s *Server) options(faults *Faults) dynamodb.Options {
	key := "tablewaketest" + strconv.Itoa(os.Getpid())
	var transport http.RoundTripper = s.transport
	if faults != nil {
		transport = faults.over(transport)
	}
	return dynamodb.Options{
		BaseEndpoint: aws.String(s.endpoint),
		Region:       "us-east-1",
		HTTPClient:   &http.Client{Transport: transport},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: key, SecretAccessKey: "secret"}, nil
		}),
	}
}

func (s *Server) made(table string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.tables, table) { // a table may be deleted and recreated
		s.tables = append(s.tables, table)
	}
}

func (s *Server) clean() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	client := dynamodb.New(s.options(nil))
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, table := range s.tables {
		if _, err := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: aws.String(table)}); err != nil {
			return err
		}
	}
	return nil
}
