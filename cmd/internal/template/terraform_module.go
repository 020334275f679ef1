package template

import (
	"crypto/sha256"
	_ "embed"
	"fmt"
	"io"
	"strings"
	"text/template"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/policy"
)

//go:embed terraform.tf.tmpl
var terraformText string

// terraform is the data of the Terraform module.
type terraform struct {
	functionTemplate
	Storage *storage
}

// function is a Lambda function of the Terraform module with its role.
type function struct {
	role
	ID      string // part of the names of its resources
	Suffix  string // suffix of the function's name
	What    string
	Timeout string
}

// bucket is an S3 bucket of the Terraform module.
type bucket struct {
	ID, Name, What string
	Counted        bool // created only with create_storage
	Days           int  // days after which objects expire; 0: never
	NoncurrentDays int
}

// Ref returns the Terraform reference to the bucket.
func (b bucket) Ref() string { return "aws_s3_bucket." + b.ID + cli.Choose(b.Counted, "[0]", "") }

// Name returns the Terraform expression for the function's name.
func (f function) Name() string {
	if f.Suffix == "" {
		return "local.name"
	}
	return `"${local.name}` + f.Suffix + `"`
}

// Name returns local.name, the beginning of the names of functions, layers and alarms.
func (t terraform) Name() string {
	return shorten("tablewake-"+t.Config.Name, maxFunctionName-len("-redrive"))
}

// Prefix returns local.prefix, the beginning of the name prefixes of roles, rules and queues.
func (t terraform) Prefix() string {
	return shorten("tablewake-"+t.Config.Name, maxNamePrefix-len("-redrive-"))
}

// The limits of names, in characters. Terraform adds 26 characters to a name_prefix.
const (
	maxFunctionName = 64
	maxNamePrefix   = 64 - 26 // limit for a role or a rule; for a queue it is 80 - 26
)

// shorten returns name, cut to at most limit characters. A cut name ends with a hash of the whole name, so that two
// long names with the same beginning differ.
func shorten(name string, limit int) string {
	if len(name) <= limit {
		return name
	}
	hash := fmt.Sprintf("-%x", sha256.Sum256([]byte(name)))[:9]
	return strings.TrimRight(name[:limit-len(hash)], "-_") + hash
}

// Variables returns the environment of the functions. It pads the names with spaces, because terraform fmt aligns the
// values.
func (t terraform) Variables() []Variable {
	all := append([]Variable{{Name: "TABLEWAKE_CONFIG", Text: "/opt/" + t.ConfigBase()}}, t.Environment...)
	width := 0
	for _, v := range all {
		width = max(width, len(v.Name))
	}
	for i := range all {
		all[i].Name += strings.Repeat(" ", width-len(all[i].Name))
	}
	return all
}

// Terraform prints a module with everything that runs the configuration as a Lambda function.
func Terraform(w io.Writer, cfg *config.Config, o Options) error {
	d, err := newTemplate(cfg, o, policy.Options{
		Partition: "${data.aws_partition.current.partition}", Region: "${data.aws_region.current.region}",
		Account: "${data.aws_caller_identity.current.account_id}", Suffix: "${data.aws_partition.current.dns_suffix}",
	}, func(d domain) string { return "${var." + snake(d.Parameter) + "}" })
	if err != nil {
		return err
	}
	if err := checkConfigFolder(cfg.File, "-o terraform > tablewake.tf"); err != nil {
		return err
	}
	t, err := template.New("terraform").Delims("<%", "%>").Funcs(template.FuncMap{
		"quote": hclText, "comments": comments, "snake": snake, "list": hclList,
	}).Parse(terraformText)
	if err != nil {
		return err
	}
	return t.Execute(w, terraform{d, newStorage(cfg)})
}

// Stored reports whether the module can create storage of the pipeline.
func (t terraform) Stored() bool { return !t.Storage.empty() }

// Functions returns the functions with their roles.
func (t terraform) Functions() []function {
	var all []function
	for _, r := range t.Roles {
		f := function{role: r, ID: "pipeline", What: "Delivers the changes of the table to the sinks of " + t.ConfigBase() +
			".", Timeout: "var.timeout"}
		switch {
		case r.Redrive:
			f.ID, f.Suffix, f.What, f.Timeout = "redrive", "-redrive", "Delivers the batches that Lambda gave up.", "300"
		case r.Audit:
			f.ID, f.Suffix, f.What, f.Timeout = "audit", "-audit", "Compares a sample of the table with the sinks.", "900"
		}
		all = append(all, f)
	}
	return all
}

// FailedBatches returns the bucket for the batches that Lambda discards.
func (t terraform) FailedBatches() bucket {
	return bucket{ID: "failed_batches", Name: "tablewake-failed-batches-",
		What: "It may hold records that are nowhere else.", Days: 90, NoncurrentDays: 7}
}

// TerraformBuckets returns the buckets of archives and dead letters.
func (t terraform) TerraformBuckets() []bucket {
	var all []bucket
	for _, b := range t.Storage.Buckets {
		tfBucket := bucket{ID: snake(b.ID), Name: b.Name, What: b.What, Counted: true, NoncurrentDays: 30}
		if b.Letters {
			tfBucket.Days, tfBucket.NoncurrentDays = t.Storage.LetterDays(), 7
		}
		all = append(all, tfBucket)
	}
	return all
}

// Resource returns the Terraform name of the resource that has this logical id in the SAM template.
func (t terraform) Resource(id string) string {
	names := map[string]string{"Function": "pipeline", "Redrive": "redrive", "RedriveQueue": "redrive",
		"RedriveFailures": "redrive_failures"}
	return names[id]
}

// hclText quotes a text for HCL. It escapes references, so that Terraform takes them as text.
func hclText(s string) string {
	var b strings.Builder
	_ = cli.WriteJSON(&b, s) // a string always encodes
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(strings.TrimSpace(b.String()))
}

// hclList formats names and ARNs as an HCL list. References in them stay references.
func hclList(texts []string) string {
	if len(texts) == 0 {
		return "[]"
	}
	return `["` + strings.Join(texts, `", "`) + `"]`
}
