package dynamo

import (
	"context"
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/sinks/view"
)

// What the state table holds of a contribution.
const (
	contributionVersion = "version" // S
	contributionShares  = "shares"  // B, as state.Contribution.AppendShares writes them
)

// Contributions reads what items count for, a hundred in one request.
func (s *Store) Contributions(ctx context.Context, t view.Target, items []pipeline.Key) ([]state.Contribution, error) {
	of := targetOf(t)
	refs := make([]dynamo.Ref, len(items))
	for i, key := range items {
		refs[i] = s.ContributionRef(of, key)
	}
	found, err := s.recall(ctx, of, refs)
	if err != nil {
		return nil, err
	}
	cs := make([]state.Contribution, len(items))
	for i, item := range found {
		if item == nil {
			continue
		}
		version, err := pipeline.ParseVersion(dynamo.Text(item, contributionVersion))
		if err == nil {
			shares, _ := item[contributionShares].(*types.AttributeValueMemberB)
			if shares == nil {
				shares = new(types.AttributeValueMemberB) // which is none
			}
			cs[i], err = state.ParseContribution(version, shares.Value)
			_, cs[i].Void = item[guardVoid]
		}
		if err != nil {
			return nil, s.Damaged("a contribution", err)
		}
	}
	return cs, nil
}

// contribution puts what an item counts for on condition of the version that was read.
func (s *Store) contribution(of dynamo.Target, w *view.ContributionWrite) (dynamo.Action, error) {
	ref := s.ContributionRef(of, w.Source)
	shares := w.Now.AppendShares(nil)
	item := maps.Clone(ref.Key)
	item[contributionVersion] = dynamo.S(w.Now.Version.String())
	item[contributionShares] = &types.AttributeValueMemberB{Value: shares}
	if len(w.Now.Shares) == 0 {
		s.Stamp(item)
	}
	if n := sizeOfItem(item); n > maxItem {
		return dynamo.Action{}, tooLarge("what the item counts for", n)
	}
	put := &types.Put{TableName: aws.String(ref.Table), Item: item}
	setVersion(put, w.Was, w.WasVoid, w.Now.Void)
	return dynamo.Action{Put: put}, nil
}
