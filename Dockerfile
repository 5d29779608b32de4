# The service with its bundled models: docker build -t syntagma . && docker run -p 8000:8000 -e SYNTAGMA_TOKEN=... syntagma
FROM python:3.11-slim
WORKDIR /srv
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
RUN pip install --no-cache-dir -c constraints.txt '.[serve]' && rm -rf src && useradd --create-home syntagma
USER syntagma
WORKDIR /home/syntagma
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/healthz', timeout=3)"]
ENTRYPOINT ["syntagma", "serve", "--host", "0.0.0.0", "--drain", "5"]
