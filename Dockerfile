# The service with its bundled models: docker build -t syntagma . && docker run -p 8000:8000 -e SYNTAGMA_TOKEN=... syntagma
FROM python:3.11-slim
# The sources are in no layer of the image: only what is installed from them.
RUN --mount=type=bind,target=/context cp -r /context /tmp/syntagma && cd /tmp/syntagma \
    && pip install --no-cache-dir -c constraints.txt '.[serve]' && rm -rf /tmp/syntagma && useradd --create-home syntagma
USER syntagma
WORKDIR /home/syntagma
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/healthz', timeout=3)"]
ENTRYPOINT ["syntagma", "serve", "--host", "0.0.0.0", "--drain", "5"]
