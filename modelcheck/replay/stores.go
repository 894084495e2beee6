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
	case r.Kind == ast.QueueKind && b.Kind == engines.NATS:
		return openNATSQueue(ctx, spec, r, b)
	case r.Kind == ast.LogKind && b.Kind == engines.NATS:
		return openNATSLog(ctx, spec, r, b)
	case r.Kind == ast.ProviderKind && b.Kind == kindStub:
		return openStub(ctx, spec, r, b)
	case r.Kind == ast.KVKind && b.Kind == engines.NATS:
		return openNATSKV(ctx, spec, r, b)
	case r.Kind == ast.MemoryKind && b.Kind == kindMemory:
		return openMemory(spec, r), nil
	}
	return nil, fmt.Errorf("%w: %s on %s", errUnsupported, r.Kind, b.Kind)
}

// bounded is a resource that has something to say about the boundary of a
// proof: what of it is the driver's work, not the engine's.
type bounded interface{ boundary() []string }

// served is a resource that this process serves itself: the binding of a
// worker's process needs its address.
type served interface{ address() string }
