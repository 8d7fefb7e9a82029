package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"ledgerd/internal/audit"
	"ledgerd/internal/kinds"
	"ledgerd/ledger"
)

// recordedPolicies reads every trust policy of a tenant, or of all with "", for judging bundles again under the policy that
// their verdicts name. Policies are set by hand and few. One that can't be read is left out, so that what names it fails;
// nothing else of its entry is looked at, which may be damaged.
func recordedPolicies(ctx context.Context, q querier, tenant string) (map[int64]audit.RecordedPolicy, error) {
	rows, err := q.Query(ctx, `
		SELECT e.seq, e.tenant, e.key, c.content FROM ledger.entries e JOIN ledger.contents c USING (seq)
		WHERE e.kind = $1 AND ($2 = '' OR e.tenant = $2) AND c.content IS NOT NULL`, kinds.TrustPolicyKind.Name, tenant)
	if err != nil {
		return nil, unavailable(err)
	}
	policies := map[int64]audit.RecordedPolicy{}
	var of, key string
	var e ledger.Entry
	_, err = pgx.ForEachRow(rows, []any{&e.Seq, &of, &key, &e.Content}, func() error {
		e.Meta.Key = key
		if p, err := kinds.ReadTrustPolicy(e); err == nil {
			policies[e.Seq] = audit.RecordedPolicy{Tenant: of, Policy: p}
		}
		e.Content = nil // the policy keeps what was read
		return nil
	})
	return policies, unavailable(err)
}
