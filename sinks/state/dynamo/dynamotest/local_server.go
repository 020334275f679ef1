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

// Server is DynamoDB Local as one test sees it: a server that has only the tables of the test.
type Server struct {
	salt      string // random part of table names, because other tests use the same server
	endpoint  string
	transport *http.Transport

	mu     sync.Mutex
	tables []string // full names of the created tables
}

// Open returns the server whose endpoint is in the environment variable Env. It fails the test if the variable is not
// set. When the test ends, a cleanup function deletes the tables and closes the connections.
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

// Client returns a client that sees only the tables of a world. world is any text. Clients of one Server with the same
// world see the same tables. faults may be nil.
func (s *Server) Client(world string, faults *Faults) *dynamodb.Client {
	return dynamodb.New(s.options(faults), func(o *dynamodb.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Initialize.Add(&renaming{s, s.prefix(world)}, middleware.Before)
		})
	})
}

// options returns the options of a client. All tests of a process share one access key, because DynamoDB Local keeps
// about 30 threads for each access key.
func (s *Server) options(faults *Faults) dynamodb.Options {
	key := "tablewaketest" + strconv.Itoa(os.Getpid())
	var transport http.RoundTripper = s.transport
	if faults != nil {
		transport = faults.transport(transport)
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

func (s *Server) noteTable(table string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.tables, table) { // the name is noted already if the table was deleted and recreated
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
