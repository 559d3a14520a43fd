# `mallowmix serve` in a container: not root, a root file system that may be read-only, a health check.
# Votes go to /data (SQLite) or to PostgreSQL (compose.yaml); compiled kernels are in /cache.
FROM python:3.13-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN python -m venv /opt/mallowmix && /opt/mallowmix/bin/pip install --no-cache-dir '.[web]'

FROM python:3.13-slim
RUN useradd --system --uid 10001 --home-dir /data mallowmix \
    && mkdir /data /cache && chown mallowmix /data /cache
COPY --from=build /opt/mallowmix /opt/mallowmix
ENV PATH=/opt/mallowmix/bin:$PATH NUMBA_CACHE_DIR=/cache PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 10001
WORKDIR /data
RUN python -m mallowmix.fitting.warm_up
VOLUME ["/data", "/cache"]
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/api/v1/health', timeout=4)"]
ENTRYPOINT ["mallowmix", "serve", "--host", "0.0.0.0", "--port", "8000"]
CMD ["--items", "/data/items.txt", "--votes", "/data/votes.db"]
