// Package template is the command template. It prints the resources that run a configuration as a Lambda function. It
// can print the FilterCriteria, the policies, or whole templates of SAM and Terraform with both. It also prints a
// CloudFormation stack with the tables, buckets, queues, topics and buses of the pipeline.
//
// The output depends only on the configuration and the flags. Each part has a comment with its reason. If a filter
// cannot be pushed down to Lambda, a comment says why. template.yaml of this repository is the output for the
// configuration of deploy/example, with the tables and the bucket that the example needs.
//
// flags.run calls one of [Filters], [Policies], [SAM], [Terraform] and [CloudFormation]. Read command.go first, then
// filter_criteria.go and sam_template.go.
package template
