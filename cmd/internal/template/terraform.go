package template

import (
	_ "embed"
	"encoding/json"
	"io"
	"strings"
	"text/template"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/policy"
)

//go:embed terraform.tf.tmpl
var terraformText string

// Terraform prints the policy and the event source mappings for a function that the user defines.
func Terraform(w io.Writer, cfg *config.Config, o Options) error {
	d, err := newSAM(cfg, o)
	if err != nil {
		return err
	}
	rights := policy.Options{
		Partition: "${data.aws_partition.current.partition}", Region: "${data.aws_region.current.name}", Account: "${data.aws_caller_identity.current.account_id}",
		Suffix: "${data.aws_partition.current.dns_suffix}",
	}
	d.Rights = policy.Statements(cfg, rights)
	if d.Audited() {
		d.Audits = auditRights(cfg, rights)
	}
	t, err := template.New("terraform").Delims("<%", "%>").Funcs(template.FuncMap{
		"quote":     hclText,
		"comments":  comments,
		"snake":     snake,
		"alarmName": func(pipeline, id string) string { return "tablewake-" + pipeline + "-" + snake(id) },
		"list": func(texts []string) string {
			quoted := make([]string, len(texts))
			for i, s := range texts {
				quoted[i] = `"` + s + `"` // names and ARNs keep their references
			}
			return "[" + strings.Join(quoted, ", ") + "]"
		},
	}).Parse(terraformText)
	if err != nil {
		return err
	}
	return t.Execute(w, d)
}

// hclText quotes a text for HCL, so that it has no references.
func hclText(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(strings.TrimSpace(b.String()))
}
