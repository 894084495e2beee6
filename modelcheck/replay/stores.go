package replay

import (
	"context"
	"fmt"

	"github.com/relplan/relplan/internal/engines"
	"github.com/relplan/relplan/specs/ast"
)

// openStore reaches a resource that is no database.
func openStore(ctx context.Context, spec *ast.Spec, r *ast.Resource, b binding) (resource, error) {
	switch {
	case r.Kind == ast.KVKind && b.Kind == engines.Redis:
		return openRedis(ctx, spec, r, b)
	}
	return nil, fmt.Errorf("%w: %s on %s", errUnsupported, r.Kind, b.Kind)
}
