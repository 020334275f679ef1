package validate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/stream"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/aws"
)

// liveReport is the part of `validate --live -o json` about the account.
type liveReport struct {
	Account    string      `json:"account,omitempty"` // absent if STS does not name it
	Region     string      `json:"region"`
	Caller     string      `json:"caller,omitempty"` // ARN of the user or role of the credentials
	Checked    []string    `json:"checked"`          // parts of the configuration that fit the account
	NotChecked []unchecked `json:"not_checked"`
}

// unchecked is a part of the configuration that could not be checked.
type unchecked struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// write prints the report.
func (r *liveReport) write(w io.Writer) {
	const unknown = "unknown"
	fmt.Fprintf(w, "account %s, Region %s, caller %s\n", cmp.Or(r.Account, unknown), r.Region, cmp.Or(r.Caller, unknown))
	for _, line := range r.Checked {
		fmt.Fprintf(w, "checked: %s\n", line)
	}
	for _, n := range r.NotChecked {
		fmt.Fprintf(w, "not checked: %s: because %s\n", n.What, n.Why)
	}
}

// account compares a configuration with the account of the shell's credentials. It writes nothing in the account.
type account struct {
	cfg      *config.Config
	sdk      awssdk.Config
	pipeline *pipeline.Pipeline // only plans; knows which images of items it needs
	tables   *dynamodb.Client
	api      shardreader.API
	denied   deniedCalls
	newest   map[string]string // ARN of a table's newest stream, by the pattern for all streams of the table

	noSource    bool                // a source table is missing
	unreachable map[string][]string // by cause: fields of the parts with an unreachable server, except the first

	liveReport
	problems config.Problems
}

// checkTime limits the time of one check.
const checkTime = time.Minute

// maxCallerWait limits the time in which STS answers. Where STS cannot be reached, the rights are not checked.
const maxCallerWait = 20 * time.Second

// checkAccount checks whether the resources that the configuration names are in the account, and whether the caller has
// the necessary rights. It returns the report and all problems. The error means that it could not check.
func checkAccount(ctx context.Context, s cli.Streams, cfg *config.Config) (*liveReport, config.Problems, error) {
	a, err := newAccount(ctx, s, cfg)
	if err != nil {
		return nil, nil, err
	}
	caller, callerErr := target.Caller(ctx, a.sdk, maxCallerWait)
	if callerErr == nil {
		a.Account, a.Caller = awssdk.ToString(caller.Account), awssdk.ToString(caller.Arn)
	}
	for _, t := range cfg.Source.Tables {
		a.checkSource(ctx, t)
	}
	if a.noSource { // probably the wrong account or Region: do not suggest to create everything there
		a.skip("stores and rights", "there is no source table here")
	} else {
		stores := aws.Stores(a.sdk)
		defer stores.Close()
		a.checkStores(ctx, stores)
		a.checkRights(ctx, callerErr)
	}
	a.skipUnreachable()
	if ctx.Err() != nil {
		return nil, nil, cli.WithExitCode(cli.ExitInterrupted, fmt.Errorf("interrupted: %w", context.Cause(ctx)))
	}
	a.problems.Sort()
	return &a.liveReport, a.problems, nil
}

// newAccount returns the account of the shell's credentials, before the first check.
func newAccount(ctx context.Context, s cli.Streams, cfg *config.Config) (*account, error) {
	sdk, err := target.LoadAWS(ctx)
	if err != nil {
		return nil, err
	}
	a := &account{cfg: cfg, newest: make(map[string]string), unreachable: make(map[string][]string)}
	a.liveReport = liveReport{Region: sdk.Region, Checked: []string{}, NotChecked: []unchecked{}}
	sdk.APIOptions = append(sdk.APIOptions, a.denied.watch)
	a.sdk, a.tables, a.api = sdk, dynamodb.NewFromConfig(sdk), stream.OpenRateLimited(sdk, cfg, 2)
	a.pipeline, err = sinks.Assemble(ctx, cfg, sinks.PlanOnly(), sinks.WithExtensions(s.Extensions...),
		sinks.HoldCustom("validate"), sinks.PassMissingFilters(), sinks.SuppressEvents("validate"))
	return a, err
}

// skipUnreachable notes the parts whose servers do not answer, except those that are noted as problems.
func (a *account) skipUnreachable() {
	for _, cause := range slices.Sorted(maps.Keys(a.unreachable)) {
		if fields := a.unreachable[cause]; len(fields) > 0 {
			a.skip(strings.Join(fields, ", "), "their servers do not answer either: "+cause)
		}
	}
}

// part is something to check: a resource that a setting of the file names.
type part struct {
	field       string // the setting, such as state.table
	line        int
	description string // the resource, such as: table shop-state
}

// check runs do, the check of a part, and notes the result. do notes a problem itself, or returns it as an error.
// Otherwise it returns a remark about the part; "" is no remark. If do succeeds although a call was denied, check notes
// the part as not checked.
func (a *account) check(ctx context.Context, p part, do func(ctx context.Context) (remark string, err error)) {
	ctx, cancel := cli.WithAnswerTimeout(ctx, checkTime)
	defer cancel()
	a.denied.takeDenied() // forget the calls of earlier checks
	problemsBefore := len(a.problems)
	remark, err := do(ctx)
	denied := a.denied.takeDenied()
	switch {
	case err != nil:
		a.noteError(p, cli.ExplainTimeout(ctx, err))
	case len(a.problems) > problemsBefore: // do has noted a problem
	case denied != "":
		a.skip(p.field+": "+p.description, "the credentials do not allow "+denied)
	case remark != "":
		a.Checked = append(a.Checked, p.field+": "+p.description+": "+remark)
	default:
		a.Checked = append(a.Checked, p.field+": "+p.description)
	}
}

// noteError notes the error of a check. If a server of an earlier part was not reached for the same cause, noteError
// notes no second problem, because one wrong endpoint or network is one problem.
func (a *account) noteError(p part, err error) {
	if awserr.KindOf(err) == awserr.Missing {
		a.problem(p, fmt.Sprintf("%s is missing in %s", p.description, a.accountText()), "`"+a.createCommand()+"` creates it")
		return
	}
	if cause := unreachableCause(err); cause != "" {
		fields, isKnown := a.unreachable[cause]
		if isKnown && !slices.Contains(fields, p.field) {
			fields = append(fields, p.field)
		}
		a.unreachable[cause] = fields
		if isKnown {
			return
		}
	}
	for text := range strings.SplitSeq(err.Error(), "\n") {
		a.problem(p, text, "")
	}
}

// unreachableCause returns the reason why a server was not reached. It returns "" if err is another error.
func unreachableCause(err error) string {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno.Error()
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return "no address of " + dns.Name
	}
	return ""
}

// problem notes a problem of a part. hint says how to correct it; "" if message says so. A problem that is noted
// already is ignored.
func (a *account) problem(p part, message, hint string) {
	isSame := func(noted config.Problem) bool { return noted.Message == message && noted.Hint == hint }
	if slices.ContainsFunc(a.problems, isSame) {
		return // several sinks or entities have the same problem
	}
	a.problems = append(a.problems, config.Problem{
		File: a.cfg.File, Line: max(p.line, 1), Column: 1, Field: p.field, Message: message, Hint: hint,
	})
}

// skip notes a part that could not be checked.
func (a *account) skip(what, why string) { a.NotChecked = append(a.NotChecked, unchecked{what, why}) }

// accountText returns the account and the Region for a message.
func (a *account) accountText() string {
	if a.Account == "" {
		return "this account, Region " + a.Region
	}
	return "account " + a.Account + ", Region " + a.Region
}

// createCommand returns the command that creates missing resources. It is consume if a consumer runs the configuration.
// For a Lambda function it is a replay of nothing.
func (a *account) createCommand() string {
	if a.consumes() {
		return "tablewake consume -c " + a.cfg.File + " --live --create"
	}
	return "tablewake replay -c " + a.cfg.File + " --live --create /dev/null"
}

// consumes reports whether `tablewake consume` runs the configuration. If not, a Lambda function does.
func (a *account) consumes() bool { return a.cfg.Leases != nil && a.cfg.Source.Kinesis == "" }

// deniedCalls notes which calls of the SDK are denied. Stores do not return all such errors, because they can do
// without some calls. It is safe for concurrent use.
type deniedCalls struct {
	mu   sync.Mutex
	last string // service and operation, such as DynamoDB DescribeTable; "" if no call was denied
}

// watch adds a middleware to a client of the SDK that notes denied calls in d.
func (d *deniedCalls) watch(stack *middleware.Stack) error {
	note := func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
		out middleware.InitializeOutput, metadata middleware.Metadata, err error,
	) {
		out, metadata, err = next.HandleInitialize(ctx, in)
		if err != nil && awserr.IsForbidden(err) {
			d.mu.Lock()
			d.last = awsmiddleware.GetServiceID(ctx) + " " + awsmiddleware.GetOperationName(ctx)
			d.mu.Unlock()
		}
		return out, metadata, err
	}
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("tablewake.denied", note), middleware.After)
}

// takeDenied returns the last call that was denied, and forgets it. It returns "" if no call was denied since the
// previous takeDenied.
func (d *deniedCalls) takeDenied() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	last := d.last
	d.last = ""
	return last
}
