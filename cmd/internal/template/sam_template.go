package template

import (
	_ "embed"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/template"
	"unicode"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/sinks/policy"
	"github.com/tablewake/tablewake/sinks/pushdown"
)

//go:embed sam.yaml.tmpl
var samText string

//go:embed audit.yaml.tmpl
var auditText string

// functionTemplate is the data of the templates of SAM and Terraform.
type functionTemplate struct {
	Options
	Config   *config.Config
	Plan     pushdown.Plan
	Streams  []stream
	Redriven bool // a schedule redrives the dead letters
	Roles    []role
	Domains  []domain // domains whose names are parameters of the template
}

// role is an IAM role with the rights of a function.
type role struct {
	ID      string
	Log     string // the function's log group
	What    string // describes the policy of the role
	Redrive bool   // the function reads discarded batches. Lambda writes them with the pipeline's role
	Audit   bool   // the function audits
	Rights  []policy.Statement
}

// stream is a stream that the function reads.
type stream struct {
	ID        string // id of the event in the template
	Parameter string // name of the parameter with the ARN
	Table     string
	ARN       string // "": the configuration does not have it
}

// SAM prints a SAM template that deploys the configuration as a Lambda function.
func SAM(w io.Writer, cfg *config.Config, o Options) error {
	d, err := newTemplate(cfg, o, policy.Options{
		Partition: "${AWS::Partition}", Region: "${AWS::Region}", Account: "${AWS::AccountId}", Suffix: "${AWS::URLSuffix}",
		Names: o.Names, Pipeline: o.Pipeline,
	}, func(d domain) string { return "${" + d.Parameter + "}" })
	if err != nil {
		return err
	}
	if !o.Example {
		if err := checkConfigFolder(cfg.File, "> template.yaml"); err != nil {
			return err
		}
	}
	t, err := template.New("sam").Delims("<%", "%>").Funcs(template.FuncMap{
		"text":     yamlbind.Quoted,
		"comments": comments,
		"statements": func(rights []policy.Statement, indent int) string {
			return strings.TrimSuffix(statements(rights, strings.Repeat(" ", indent), withReference), "\n")
		},
	}).Parse(samText)
	if err != nil {
		return err
	}
	if _, err := t.Parse(auditText); err != nil {
		return err
	}
	return t.Execute(w, d)
}

// checkConfigFolder returns an error if the folder of the configuration is or contains the working folder. The folder
// of the configuration becomes the layer, so all files there would be uploaded. output is the end of the command that
// the error proposes.
func checkConfigFolder(file, output string) error {
	folder, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return err
	}
	workingFolder, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	prefix := strings.TrimSuffix(folder, string(filepath.Separator)) + string(filepath.Separator)
	contains := workingFolder == folder || strings.HasPrefix(workingFolder, prefix)
	if !contains {
		return nil
	}
	return fmt.Errorf(
		"%s: its folder becomes the function's layer with all of its files, and you are in it (%s): copy the file, and the files that it names, "+
			"into a folder of its own: `mkdir -p config && cp %s config/ && tablewake template -c config/%s %s`", file,
		workingFolder, file, filepath.Base(file), output)
}

// newTemplate returns the data of a template. references has the template's references to its account and Region.
// domainName returns the reference to the name of a domain.
func newTemplate(
	cfg *config.Config, o Options, references policy.Options, domainName func(domain) string,
) (functionTemplate, error) {
	plan, err := pushdown.New(cfg, o.Pushdown)
	if err != nil {
		return functionTemplate{}, err
	}
	if err := cfg.CheckFunctionLetters(); err != nil {
		return functionTemplate{}, err
	}
	if o.Code == "" {
		o.Code = "tablewake-lambda.zip"
	}
	d := functionTemplate{Options: o, Config: cfg, Plan: plan,
		Redriven: cfg.DeadLetters != nil && cfg.DeadLetters.AutoRedrive}
	cfg, d.Domains = nameDomains(cfg)
	d.setRoles(cfg, references)
	for _, r := range d.Roles {
		renameDomains(r.Rights, d.Domains, domainName)
	}
	d.Streams = sourceStreams(cfg)
	return d, nil
}

// setRoles sets the roles of the functions. cfg has the names of domains that [nameDomains] made. references is that of
// [newTemplate].
func (t *functionTemplate) setRoles(cfg *config.Config, references policy.Options) {
	t.Roles = []role{
		{ID: "Role", Log: "Log", What: "as `tablewake template -o policies` prints it, without bringing dead letters back",
			Rights: policy.Statements(withoutAutoRedrive(cfg), references)},
		{ID: "RedriveRole", Log: "Log", What: "as `tablewake template -o policies` prints it", Redrive: true,
			Rights: policy.Statements(cfg, references)},
	}
	if t.Audited() {
		t.Roles = append(t.Roles, role{ID: "AuditRole", Log: "AuditLog",
			What: "as `tablewake template -o policies --for audit` prints it, without exports and leases", Audit: true,
			Rights: auditRights(cfg, references)})
	}
}

// sourceStreams returns the streams that the function reads. If there is only one, its ids have no name of a table.
func sourceStreams(cfg *config.Config) (streams []stream) {
	if cfg.Source.Kinesis != "" {
		return []stream{{ID: "Changes", Parameter: "StreamArn", Table: cfg.Source.Tables[0].Name, ARN: cfg.Source.Kinesis}}
	}
	ids := make(logicalIDs)
	for _, t := range cfg.Source.Tables {
		s := stream{ID: "Changes", Parameter: "StreamArn", Table: t.Name, ARN: t.StreamARN}
		if len(cfg.Source.Tables) > 1 {
			s.ID, s.Parameter = ids.add("Changes", t.Name), ids.add("StreamArn", t.Name)
		}
		streams = append(streams, s)
	}
	return streams
}

// withoutAutoRedrive returns the configuration without redrive: auto. The result determines the rights of the function
// that reads the stream. That function does not redrive, because another function does.
func withoutAutoRedrive(cfg *config.Config) *config.Config {
	if cfg.DeadLetters == nil || !cfg.DeadLetters.AutoRedrive {
		return cfg
	}
	c, letters := *cfg, *cfg.DeadLetters
	letters.AutoRedrive = false
	c.DeadLetters = &letters
	return &c
}

// alphanumeric formats a name as a part of a logical id, such as MyOrders for my-orders.
func alphanumeric(name string) string {
	var b strings.Builder
	for _, word := range strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '_' || r == '.' }) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// snake formats a logical id as a name for Terraform, such as stream_arn_orders for StreamArnOrders.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Kinesis reports whether the function reads a Kinesis stream.
func (t functionTemplate) Kinesis() bool { return t.Config.Source.Kinesis != "" }

// Parameters returns the names of the SSM parameters that the environment refers to.
func (t functionTemplate) Parameters() []string {
	var names []string
	for _, v := range t.Environment {
		if v.Secret {
			names = append(names, v.ParameterName)
		}
	}
	return names
}
