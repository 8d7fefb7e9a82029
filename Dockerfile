# The build needs nothing but Go; the result is one static program on a small Debian. The embedded engine, which would make
# it a dynamic one, is for `ledgerd dev` only.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 go build -tags noengine -trimpath -ldflags='-s -w' -o /out/ledgerd ./cmd/ledgerd

FROM debian:bookworm-slim
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/ledgerd /usr/local/bin/
# A named volume takes over the owner of the folder that it covers.
RUN install -d -o 65532 -g 65532 -m 0700 /var/lib/ledgerd /var/lib/ledgerd-key
USER 65532:65532
WORKDIR /var/lib/ledgerd
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD ["ledgerd", "healthcheck"]
ENTRYPOINT ["ledgerd"]
CMD ["serve"]
