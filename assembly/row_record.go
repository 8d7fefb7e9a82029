package assembly

import "errors"

// Row is an assembly as a ledger stores it: the record without what has entries of its own. It names its snapshot and plan
// by id and digest; Join makes it whole.
type Row struct {
	rest     Assembly
	snapshot snapshotName
	plan     snapshotName
}

// ParseRow reads an assembly row: the record without profile, snapshot, plan and anchors, and with "snapshot"
// {snapshot_id, snapshot_digest} and "plan" {plan_id, plan_digest} in their place, both null where no profile resolved. The error is a *RecordError.
func ParseRow(src []byte) (*Row, error) {
	return parse(src, func(r reader) *Row {
		row := &Row{}
		name := func(n *snapshotName, id, digest string) func() {
			return func() {
				if !r.Null() {
					r.Object(into(id, &n.id, r.token), into(digest, &n.digest, r.digest))
				}
			}
		}
		r.Object(append(row.rest.members(r, true),
			req("snapshot", name(&row.snapshot, "snapshot_id", "snapshot_digest")),
			req("plan", name(&row.plan, "plan_id", "plan_digest")),
		)...)
		return row
	})
}

// Identity says which assembly of which turn the row is of.
func (r *Row) Identity() Identity { return r.rest.id }

// Snapshot is the id and the digest of the snapshot that the row names.
func (r *Row) Snapshot() (id, digest string) { return r.snapshot.id, r.snapshot.digest }

// Plan is the id and the digest of the plan that the row names.
func (r *Row) Plan() (id, digest string) { return r.plan.id, r.plan.digest }

// Recorded is the outcome as recorded, unverified.
func (r *Row) Recorded() Outcome { return r.rest.recorded }

// ActiveProfile is the one active candidate of the row's profile resolution, by revision id and digest; ok is false when
// there is none or more than one.
func (r *Row) ActiveProfile() (revision, digest string, ok bool) {
	for _, c := range r.rest.resolution.candidates {
		if c.active && ok {
			return "", "", false
		}
		if c.active {
			revision, digest, ok = c.revision, c.digest, true
		}
	}
	return revision, digest, ok
}

// Revisions are the revision ids of the row's profile resolution, each once, in its order.
func (r *Row) Revisions() []string {
	var ids []string
	seen := map[string]bool{}
	for _, c := range r.rest.resolution.candidates {
		if !seen[c.revision] {
			seen[c.revision] = true
			ids = append(ids, c.revision)
		}
	}
	return ids
}

// ErrJoin is the refusal of parts that are not the ones that a row names.
var ErrJoin = errors.New("the snapshot or the plan is not the one that the assembly names by id and digest")

// Join makes a whole record of a row and the snapshot and plan that it names, which are nil where it names none; so is the
// profile where none resolved. The digests are the computed ones, so a part that lies about its own digest never joins. The
// error is ErrJoin.
func (r *Row) Join(profile *Profile, snapshot *Snapshot, plan *Plan) (*Assembly, error) {
	var joined [2]snapshotName
	if snapshot != nil {
		joined[0] = snapshotName{snapshot.id, snapshot.computedDigest}
	}
	if plan != nil {
		joined[1] = snapshotName{plan.id, plan.computedDigest}
	}
	if joined != [2]snapshotName{r.snapshot, r.plan} {
		return nil, ErrJoin
	}
	whole := r.rest
	whole.profile, whole.snapshot, whole.plan = profile, snapshot, plan
	return &whole, nil
}
